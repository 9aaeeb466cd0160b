// What every TypeScript client does with the fixture server (../FIXTURE.md, "Cells").
//
// A cell gets a `peer`, the thin adapter that client1.mjs and client2.mjs write over their SDK:
//
//   call(name, args, {onprogress, signal, logLevel})   the result of tools/call
//   list(kind)            all items; kind: tools | prompts | resources | templates
//   prompt(name, args)    read(uri)    complete(ref, name, value)
//   setLevel(level)       legacy only
//   watch(uri)            asks for updates of the URI and of the tool list; gives a function that ends it
//   era                   "legacy" | "modern"
//   seen                  what arrived: {logs, updated, toolsChanged, elicited, sampled}
//   elicitAction          what the elicitation handler answers: "accept" | "decline"
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

export const ROOTS = ['file:///fixture/one', 'file:///fixture/two'];
const FILLERS = Array.from({ length: 110 }, (_, i) => `tool_${String(i).padStart(3, '0')}`);
const TOOLS = [
    'echo', 'add', 'slow', 'cancelled_count', 'ask_name', 'ask_model', 'list_roots', 'log_three', 'touch', 'toggle_tool',
    ...FILLERS
];

const text = result => {
    assert.ok(!result.isError, `isError: ${JSON.stringify(result.content)}`);
    assert.equal(result.content.length, 1, 'number of content blocks');
    assert.equal(result.content[0].type, 'text');
    return result.content[0].text;
};
const names = items => items.map(item => item.name);

/** Waits until `check` holds; the cell's own time limit ends the waiting. */
async function until(check) {
    while (!(await check())) await sleep(10);
}

async function refused(what, promise) {
    const answer = await promise.then(result => (result?.isError ? undefined : result), () => undefined);
    assert.equal(answer, undefined, `${what} was accepted`);
}

export const cells = {
    async lists(peer) {
        const tools = await peer.list('tools');
        assert.deepEqual(names(tools), TOOLS);
        assert.deepEqual(tools[1].outputSchema?.required, ['sum']);
        const prompts = await peer.list('prompts');
        assert.deepEqual(names(prompts), ['greet', 'plain']);
        assert.deepEqual(prompts[0].arguments.map(a => [a.name, a.required]), [['who', true]]);
        assert.deepEqual((await peer.list('resources')).map(r => r.uri), ['fixture://text', 'fixture://blob']);
        assert.deepEqual((await peer.list('templates')).map(t => t.uriTemplate), ['fixture://items/{id}']);
    },

    async calls(peer) {
        for (const sample of ['plain', 'grüße 🦀 日本', 'two\nlines\r\n', 'sep\u2028para\u2029', '"quoted" \\ \u0000', '']) {
            assert.equal(text(await peer.call('echo', { text: sample })), sample);
        }
        const sum = await peer.call('add', { a: 20, b: 22 });
        assert.deepEqual(sum.structuredContent, { sum: 42 });
        assert.deepEqual(JSON.parse(text(sum)), { sum: 42 });
        await refused('a string for an integer', peer.call('add', { a: 'x', b: 1 }));
        await refused('an unknown tool', peer.call('no_such_tool', {}));
        assert.equal(text(await peer.call('tool_109', {})), 'tool_109');
    },

    async prompts(peer) {
        const messages = async (name, args) => {
            const { messages } = await peer.prompt(name, args);
            return messages.map(m => [m.role, m.content.type, m.content.text]);
        };
        assert.deepEqual(await messages('greet', { who: 'Zoë' }), [['user', 'text', 'Please greet Zoë.']]);
        assert.deepEqual(await messages('plain'), [['user', 'text', 'A plain prompt.']]);
        await refused('a missing prompt argument', peer.prompt('greet', {}));
        await refused('an unknown prompt', peer.prompt('no_such_prompt', {}));
    },

    async resources(peer) {
        const read = async uri => {
            const { contents } = await peer.read(uri);
            assert.equal(contents.length, 1, 'number of contents');
            const { mimeType, text, blob } = contents[0];
            assert.equal(contents[0].uri, uri);
            return [mimeType, text ?? Buffer.from(blob, 'base64')];
        };
        assert.deepEqual(await read('fixture://text'), ['text/plain', 'fixture text']);
        assert.deepEqual(await read('fixture://blob'), ['application/octet-stream', Buffer.from([0, 1, 2, 0xff])]);
        assert.deepEqual(await read('fixture://items/two'), ['text/plain', 'item two']);
        await refused('an unknown resource', peer.read('fixture://nowhere'));
    },

    async completion(peer) {
        const values = async (ref, name, value) => (await peer.complete(ref, name, value)).completion.values;
        const item = { type: 'ref/resource', uri: 'fixture://items/{id}' };
        assert.deepEqual(await values({ type: 'ref/prompt', name: 'greet' }, 'who', 'al'), ['alice', 'albert']);
        assert.deepEqual(await values(item, 'id', 't'), ['two', 'three']);
        assert.deepEqual(await values(item, 'id', 'x'), []);
    },

    async progress(peer) {
        const steps = [];
        const result = await peer.call('slow', { ms: 100 }, { onprogress: p => steps.push([p.progress, p.total]) });
        assert.equal(text(result), 'done');
        assert.deepEqual(steps, [[1, 5], [2, 5], [3, 5], [4, 5], [5, 5]]);
        assert.equal(text(await peer.call('slow', { ms: 10 })), 'done', 'without a token');
    },

    async cancellation(peer) {
        const abort = new AbortController();
        const onprogress = () => abort.abort('enough');
        const slow = peer.call('slow', { ms: 30_000 }, { signal: abort.signal, onprogress });
        await assert.rejects(slow);
        await until(async () => text(await peer.call('cancelled_count', {})) === '1');
        assert.equal(text(await peer.call('echo', { text: 'alive' })), 'alive');
    },

    async elicitation(peer) {
        assert.equal(text(await peer.call('ask_name', {})), 'Hello, Ada');
        peer.elicitAction = 'decline';
        assert.equal(text(await peer.call('ask_name', {})), 'declined');
        assert.equal(peer.seen.elicited.length, 2);
        for (const form of peer.seen.elicited) {
            assert.equal(form.message, 'What is your name?');
            assert.equal(form.requestedSchema.properties.name.type, 'string');
            assert.deepEqual(form.requestedSchema.required, ['name']);
        }
    },

    async sampling(peer) {
        assert.equal(text(await peer.call('ask_model', { prompt: 'one + one?' })), 'You said: one + one?');
        assert.deepEqual(peer.seen.sampled.map(p => p.maxTokens), [50]);
    },

    async roots(peer) {
        assert.equal(text(await peer.call('list_roots', {})), ROOTS.join('\n'));
    },

    async logging(peer) {
        const logs = async logLevel => {
            if (peer.era === 'legacy') await peer.setLevel(logLevel);
            peer.seen.logs.length = 0;
            assert.equal(text(await peer.call('log_three', {}, peer.era === 'modern' ? { logLevel } : {})), 'logged');
            await peer.call('echo', { text: 'fence' });
            return peer.seen.logs.map(l => [l.level, l.logger, l.data]);
        };
        const all = [['info', 'fixture', 'one'], ['warning', 'fixture', 'two'], ['error', 'fixture', 'three']];
        assert.deepEqual(await logs('info'), all);
        assert.deepEqual(await logs('error'), all.slice(2));
        if (peer.era === 'modern') assert.deepEqual(await logs(undefined), []);
    },

    async listen(peer) {
        const { seen } = peer;
        const stop = await peer.watch('fixture://text');
        const touch = async uri => assert.equal(text(await peer.call('touch', { uri })), 'touched');
        await touch('fixture://blob');
        await touch('fixture://text');
        await until(() => seen.updated.length > 0);
        assert.deepEqual(seen.updated, ['fixture://text']);

        assert.equal(text(await peer.call('toggle_tool', {})), 'toggled');
        await until(() => seen.toolsChanged > 0);
        assert.deepEqual(names(await peer.list('tools')), [...TOOLS, 'extra']);
        assert.equal(text(await peer.call('extra', {})), 'extra');

        await stop();
        await touch('fixture://text');
        await peer.call('echo', { text: 'fence' });
        assert.deepEqual(seen.updated, ['fixture://text'], 'an update arrived after the watch ended');
    }
};
