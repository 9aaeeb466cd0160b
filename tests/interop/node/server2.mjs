// The fixture server (../FIXTURE.md) on @modelcontextprotocol/server 2.x: both eras over stdio, or over HTTP with
// `--http`, paging by hand, because the SDK's high-level server does not page.
import { setTimeout as sleep } from 'node:timers/promises';
import {
    InMemoryServerEventBus,
    inputRequired,
    inputResponse,
    ProtocolError,
    ProtocolErrorCode,
    ResourceNotFoundError,
    Server
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { serveHttp } from './lib/serve.mjs';

const PAGE_SIZE = 50;
const NAME_FORM = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const COMPLETIONS = { who: ['alice', 'albert', 'bob'], id: ['one', 'two', 'three'] };

// State of the process.
let cancelled = 0;
let hasExtra = false;
const subscribed = new Set();

const IS_HTTP = process.argv.includes('--http');
// What happens in one modern request over HTTP reaches the streams of others by it.
const bus = new InMemoryServerEventBus();

const text = value => ({ content: [{ type: 'text', text: value }] });
const refuse = message => new ProtocolError(ProtocolErrorCode.InvalidParams, message);
const schema = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const STRING = { type: 'string' };
const INTEGER = { type: 'integer' };

/** name → {input, output?, run(args, ctx, server)} in listing order. */
const TOOLS = {
    echo: { input: schema({ text: STRING }), run: args => text(args.text) },
    add: {
        input: schema({ a: INTEGER, b: INTEGER }),
        output: schema({ sum: INTEGER }),
        run: ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } })
    },
    slow: { input: schema({ ms: INTEGER }, []), run: slow },
    cancelled_count: { input: schema({}), run: () => text(String(cancelled)) },
    ask_name: { input: schema({}), run: askName },
    ask_model: { input: schema({ prompt: STRING }), run: askModel },
    list_roots: { input: schema({}), run: listRoots },
    log_three: { input: schema({}), run: logThree },
    touch: { input: schema({ uri: STRING }), run: touch },
    toggle_tool: { input: schema({}), run: toggleTool }
};
for (let i = 0; i < 110; i += 1) {
    const name = `tool_${String(i).padStart(3, '0')}`;
    TOOLS[name] = { input: schema({}), run: () => text(name) };
}
const EXTRA = { input: schema({}), run: () => text('extra') };

const tools = () => (hasExtra ? { ...TOOLS, extra: EXTRA } : TOOLS);

async function slow({ ms = 250 }, ctx) {
    const { signal, _meta, notify } = ctx.mcpReq;
    try {
        for (let progress = 1; progress <= 5; progress += 1) {
            if (_meta?.progressToken !== undefined) {
                const params = { progressToken: _meta.progressToken, progress, total: 5 };
                await notify({ method: 'notifications/progress', params });
            }
            await sleep(ms / 5, undefined, { signal });
        }
    } catch (error) {
        if (signal.aborted) cancelled += 1;
        throw error;
    }
    return text('done');
}

// The three tools below return `inputRequired`; on a legacy connection the SDK turns it into a request to the client.

function askName(_, ctx) {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'name');
    if (answer.kind === 'missing') {
        const form = inputRequired.elicit({ message: 'What is your name?', requestedSchema: NAME_FORM });
        return inputRequired({ inputRequests: { name: form } });
    }
    return text(answer.action === 'accept' ? `Hello, ${answer.content.name}` : 'declined');
}

function askModel({ prompt }, ctx) {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'model');
    if (answer.kind === 'missing') {
        const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
        return inputRequired({ inputRequests: { model: inputRequired.createMessage({ messages, maxTokens: 50 }) } });
    }
    const { content } = answer.result;
    return text((Array.isArray(content) ? content[0] : content).text);
}

function listRoots(_, ctx) {
    const answer = inputResponse(ctx.mcpReq.inputResponses, 'roots');
    if (answer.kind === 'missing') return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    return text(answer.roots.map(root => root.uri).join('\n'));
}

async function logThree(_, ctx) {
    await ctx.mcpReq.log('info', 'one', 'fixture');
    await ctx.mcpReq.log('warning', 'two', 'fixture');
    await ctx.mcpReq.log('error', 'three', 'fixture');
    return text('logged');
}

async function touch({ uri }, _, { server, era }) {
    if (era === 'modern' && IS_HTTP) bus.publish({ kind: 'resource_updated', uri });
    else if (era === 'modern' || subscribed.has(uri)) await server.sendResourceUpdated({ uri });
    return text('touched');
}

async function toggleTool(_args, _ctx, { server, era }) {
    hasExtra = !hasExtra;
    if (era === 'modern' && IS_HTTP) bus.publish({ kind: 'tools_list_changed' });
    else await server.sendToolListChanged();
    return text('toggled');
}

function page(items, cursor) {
    const start = cursor === undefined ? 0 : Number(cursor);
    if (!Number.isInteger(start) || start < 0 || start > items.length) throw refuse('unknown cursor');
    const end = start + PAGE_SIZE;
    return [items.slice(start, end), end < items.length ? { nextCursor: String(end) } : {}];
}

/** The SDK's low-level server does not look at arguments; the fixture needs no more than this. */
function fits(args, { properties, required }) {
    const typed = ([name, value]) => {
        const type = properties[name]?.type;
        return type === 'integer' ? Number.isInteger(value) : type === undefined || typeof value === type;
    };
    return required.every(name => name in args) && Object.entries(args).every(typed);
}

function readResource(uri) {
    if (uri === 'fixture://text') return { uri, mimeType: 'text/plain', text: 'fixture text' };
    if (uri === 'fixture://blob') return { uri, mimeType: 'application/octet-stream', blob: 'AAEC/w==' };
    const item = /^fixture:\/\/items\/([^/]+)$/.exec(uri);
    if (item) return { uri, mimeType: 'text/plain', text: `item ${decodeURIComponent(item[1])}` };
    throw new ResourceNotFoundError(uri);
}

function getPrompt({ name, arguments: args }) {
    const message = value => ({ messages: [{ role: 'user', content: { type: 'text', text: value } }] });
    if (name === 'plain') return message('A plain prompt.');
    if (name !== 'greet') throw refuse(`unknown prompt ${name}`);
    if (args?.who === undefined) throw refuse('greet needs the argument "who"');
    return message(`Please greet ${args.who}.`);
}

function factory({ era }) {
    const server = new Server(
        { name: 'interop-server2', version: '1.0.0' },
        {
            capabilities: {
                tools: { listChanged: true },
                prompts: {},
                resources: { subscribe: true },
                completions: {},
                logging: {}
            }
        }
    );
    server.setRequestHandler('tools/list', ({ params }) => {
        const all = Object.entries(tools()).map(([name, { input, output }]) => ({
            name,
            inputSchema: input,
            ...(output && { outputSchema: output })
        }));
        const [items, next] = page(all, params?.cursor);
        return { tools: items, ...next };
    });
    server.setRequestHandler('tools/call', ({ params }, ctx) => {
        const tool = tools()[params.name];
        if (!tool) throw refuse(`unknown tool ${params.name}`);
        const args = params.arguments ?? {};
        if (!fits(args, tool.input)) return { ...text('the arguments do not fit the schema'), isError: true };
        return tool.run(args, ctx, { server, era });
    });
    server.setRequestHandler('prompts/list', () => ({
        prompts: [{ name: 'greet', arguments: [{ name: 'who', required: true }] }, { name: 'plain' }]
    }));
    server.setRequestHandler('prompts/get', ({ params }) => getPrompt(params));
    server.setRequestHandler('resources/list', () => ({
        resources: [
            { uri: 'fixture://text', name: 'text', mimeType: 'text/plain' },
            { uri: 'fixture://blob', name: 'blob', mimeType: 'application/octet-stream' }
        ]
    }));
    server.setRequestHandler('resources/templates/list', () => ({
        resourceTemplates: [{ uriTemplate: 'fixture://items/{id}', name: 'items', mimeType: 'text/plain' }]
    }));
    server.setRequestHandler('resources/read', ({ params }) => ({ contents: [readResource(params.uri)] }));
    server.setRequestHandler('completion/complete', ({ params }) => {
        const { name, value } = params.argument;
        return { completion: { values: (COMPLETIONS[name] ?? []).filter(v => v.startsWith(value)), hasMore: false } };
    });
    if (era === 'legacy') {
        server.setRequestHandler('resources/subscribe', ({ params }) => (subscribed.add(params.uri), {}));
        server.setRequestHandler('resources/unsubscribe', ({ params }) => (subscribed.delete(params.uri), {}));
    }
    return server;
}

if (IS_HTTP) await serveHttp(factory, bus);
else serveStdio(factory, { onerror: error => console.error(error) });
