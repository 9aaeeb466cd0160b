// What the vectors do not say: errors, slots that are lost, numbers, misuse.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import {
  Client,
  Definition,
  HttpService,
  LimitError,
  McpError,
  MisuseError,
  parseJson,
  RawJson,
  Server,
  stringifyJson,
} from 'mcp-sansio';

const definition = Definition.builder('s', '1').tool({ name: 'any' }).limits({ frameBytes: 1000 }).build();
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const call = (id, args = '{}') =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"any","arguments":${args},"_meta":${JSON.stringify(META)}}}\n`;

/** A server with one invocation open. */
function invoked(args) {
  const server = new Server(definition);
  server.handle(call(1, args), 0);
  return [server, server.poll()];
}

const isMisuse = (text) => (error) =>
  error instanceof MisuseError && error instanceof McpError && error.blame === 'api_misuse' && text.test(error.message);

test('a slot is used once, by its own machine', () => {
  const [server, { slot }] = invoked();
  const [other] = invoked();
  assert.throws(() => other.reply(slot, { failed: true }), isMisuse(/another machine/));
  server.reply(slot, { tool: { content: [] } });
  assert.throws(() => server.reply(slot, { tool: { content: [] } }), isMisuse(/slot is not open/));
  assert.throws(() => server.progress(slot, { progress: 1 }), isMisuse(/slot is not open/));
  server.abandon(slot);
  assert.equal(server.poll().kind, 'write');
  assert.equal(server.poll(), undefined);
});

test('a reply of the wrong shape is refused, and the slot stays open', () => {
  const [server, { slot }] = invoked();
  for (const wrong of [{ tool: 5 }, { tool: { content: [{ type: 'text' }] } }, {}, { tol: {} }, { raw: new RawJson('{') }]) {
    assert.throws(() => server.reply(slot, wrong), isMisuse(/./));
  }
  server.reply(slot, { tool: { content: [{ type: 'text', text: 'ok' }] } });
  assert.match(server.poll().text, /"ok"/);
});

test('a reply has one kind, and a wrong one is named', () => {
  const [server, { slot }] = invoked();
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'tol']) {
    const reply = Object.fromEntries([[name, { content: [] }]]);
    assert.throws(() => server.reply(slot, reply), isMisuse(new RegExp(`kind "${name}"`)));
  }
  assert.throws(() => server.reply(slot, { tool: { content: [] }, failed: true }), isMisuse(/one member, not tool and failed/));
  for (const none of [{}, null, undefined]) assert.throws(() => server.reply(slot, none), isMisuse(/one member/));
  server.reply(slot, { tool: { content: [] } });
  assert.equal(server.poll().kind, 'write');
});

test('a result that is one text is written as any other', () => {
  const answer = (reply) => {
    const [server, { slot }] = invoked();
    server.reply(slot, reply);
    const { kind, text } = server.poll();
    assert.equal(kind, 'write');
    return text;
  };
  const block = { type: 'text', text: 'a "text"\nof é' };
  const plain = { content: [block] };
  class Result {
    content = [block];
    toJSON() {
      return { content: [{ type: 'text', text: 'its own' }] };
    }
  }
  const results = [
    plain,
    { content: [] },
    { content: [block, block] },
    { content: [block], isError: false },
    { content: [block], isError: true },
    { content: [{ ...block, annotations: { priority: 1 } }] },
    { content: [Object.assign(Object.create({ other: 1 }), block)] },
    { content: Object.assign([block], { toJSON: () => [{ type: 'text', text: 'the list’s' }] }) },
    Object.defineProperty({ content: [block] }, 'toJSON', { value: () => ({ content: [] }) }),
    new Result(),
    { ...plain, resultType: 'complete' },
  ];
  for (const result of results) {
    assert.equal(answer({ tool: result }), answer({ tool: new RawJson(JSON.stringify(result)) }), JSON.stringify(result));
  }
  assert.equal(answer({ text: block.text }), answer({ tool: plain }));
  assert.equal(answer({ errorText: block.text }), answer({ tool: { ...plain, isError: true } }));
  const [server, { slot }] = invoked();
  for (const text of [5, null, undefined, {}]) assert.throws(() => server.reply(slot, { text }), isMisuse(/is a string/));
});

test('what JSON cannot say is misuse, with its cause', () => {
  const [server, { slot }] = invoked();
  const content = [];
  content.push({ type: 'text', text: 'x', around: content });
  const fails = (reply, text, cause) =>
    assert.throws(() => server.reply(slot, reply), (error) => isMisuse(text)(error) && error.cause instanceof cause);
  fails({ tool: { content } }, /cannot be written as JSON: .*circular/, TypeError);
  const toJSON = () => {
    throw new RangeError('not now');
  };
  fails({ tool: { content: [], structuredContent: { toJSON } } }, /cannot be written as JSON: not now/, RangeError);
  assert.throws(() => server.log({ level: 'info', data: content }), isMisuse(/circular/));
  server.reply(slot, { tool: { content: [] } });
  assert.equal(server.poll().kind, 'write');
});

test('half of a surrogate pair is refused, wherever a text may have one', () => {
  const [high, low] = ['\ud83d', '\ude00'];
  const half = /surrogate/;
  const [server, { slot }] = invoked();
  for (const text of [high, `a${low}`, `${low}${high}`, call(2).replace('any', `any${high}`)]) {
    assert.throws(() => server.handle(text), isMisuse(half));
    assert.throws(() => new Client({ name: 'c', version: '1' }).handle(text), isMisuse(half));
    assert.throws(() => new RawJson(JSON.stringify('').replace('""', `"${text}"`)), isMisuse(half));
    assert.throws(() => server.reply(slot, { tool: { content: [{ type: 'text', text }] } }), isMisuse(/surrogate|hex escape/));
    assert.throws(() => new HttpService(definition).judge({ method: 'GET', target: `/${text}`, headers: [] }), isMisuse(half));
  }
  assert.throws(() => new RawJson(Buffer.from([0x22, 0xff, 0x22])), isMisuse(/not UTF-8/));
  // What was refused is not read: the stream goes on.
  const frame = call(3, `{"face":"${high}${low}"}`);
  server.handle(frame);
  assert.deepEqual(server.poll().arguments, { face: `${high}${low}` });
  // Bytes may be cut anywhere.
  for (const byte of Buffer.from(call(4, `{"face":"${high}${low}é"}`))) server.handle(Uint8Array.of(byte));
  assert.deepEqual(server.poll().arguments, { face: `${high}${low}é` });
});

test('a text of any length is read whole', () => {
  const server = new Server(Definition.builder('s', '1').tool({ name: 'any' }).build());
  for (const length of [0, 1, 100, 1000, 4000, 70_000, 1_000_000, 3]) {
    for (const letter of ['x', 'ä', '\u20ac', '\u{1f600}']) {
      const text = letter.repeat(length);
      server.handle(call(1, `{"text":"${text}"}`));
      const { slot, arguments: given } = server.poll();
      assert.equal(given.text, text);
      server.reply(slot, { tool: { content: [{ type: 'text', text }] } });
      const write = server.poll();
      assert.equal(JSON.parse(write.text).result.content[0].text, text);
      assert.equal(write.byteLength, Buffer.byteLength(write.text));
      server.written(write.byteLength);
    }
  }
});

test('what a verb has brought about comes in order, and is due at once', () => {
  const server = new Server(definition);
  server.handle(call(1), 7);
  assert.deepEqual({ ...server.pollTimeout() }, { at: 7, kind: 'actions' });
  server.handle(call(2) + call(3), 8);
  assert.equal(server.pollTimeout().kind, 'actions');
  const open = [];
  for (let action; (action = server.poll()) !== undefined; ) open.push(action);
  assert.deepEqual(open.map(({ context }) => context.requestId), [1, 2, 3]);
  for (const { slot } of open) server.reply(slot, { failed: true }, 9);
  const ids = [];
  for (let action; (action = server.poll()) !== undefined; ) ids.push(JSON.parse(action.text).id);
  assert.deepEqual(ids, [1, 2, 3]);
});

test('a machine that is closed says so', () => {
  const server = new Server(definition);
  server.close();
  const closed = server.poll();
  assert.deepEqual({ ...closed }, { kind: 'closed', why: 'requested', error: undefined });
  assert.ok(server.isClosed);
  assert.throws(() => server.handle('x'), isMisuse(/closed/));
  assert.throws(() => server.handleEof(), isMisuse(/closed/));
  assert.throws(() => server.notify('a/b'), isMisuse(/closed/));
  const client = new Client({ name: 'c', version: '1' });
  client.close();
  assert.throws(() => client.callTool('any'), isMisuse(/closed/));
});

test('a fatal error is thrown, and names its bound', () => {
  const server = new Server(definition);
  assert.throws(
    () => {
      for (let at = 0; at < 20; at++) server.handle('x'.repeat(1000));
    },
    (error) => error instanceof LimitError && error.bound === 'frame_bytes' && error.limit === 16_000 && error.code === -32600,
  );
});

test('code of the application that runs within a verb may use the machine', () => {
  const [server, { slot }] = invoked();
  const seen = [];
  const result = {
    toJSON() {
      server.handle(call(2), 0);
      for (let action; (action = server.poll()) !== undefined; ) seen.push(action);
      return { content: [] };
    },
  };
  server.reply(slot, { tool: result });
  assert.deepEqual(seen.map((action) => action.kind), ['invoke']);
  assert.equal(server.poll().kind, 'write');
  server.reply(seen[0].slot, { tool: { toJSON: () => server.reply(seen[0].slot, { tool: { content: [] } }) } }.tool && { failed: true });
  const twice = {
    toJSON() {
      server.reply(third.slot, { failed: true });
      return { content: [] };
    },
  };
  server.poll();
  server.handle(call(3), 0);
  const third = server.poll();
  assert.throws(() => server.reply(third.slot, { tool: twice }), isMisuse(/slot is not open/));
});

test('arguments of a wrong type are misuse', () => {
  assert.throws(() => new Server({}), isMisuse(/builder/));
  assert.throws(() => new Server(definition, { seed: new Uint8Array(3) }), isMisuse(/32 bytes/));
  assert.throws(() => new Server(definition).handle(5), MisuseError);
  assert.throws(() => Definition.builder('s', '1').tool({ name: 'a' }).tool({ name: 'a' }).build(), isMisuse(/twice/));
  assert.throws(() => Definition.builder('s', '1').pageSize(0).build(), isMisuse(/page_size/));
  assert.throws(() => Definition.builder('s', '1').limits({ frames: 1 }).build(), isMisuse(/no bound/));
  assert.throws(() => new HttpService(definition, { stateles: true }), isMisuse(/stateles/));
  assert.throws(() => new Client({ name: 'c', version: '1', connect: '1999-01-01' }), isMisuse(/no revision/));
});

test('integers lose no digits, either way', () => {
  const digits = '123456789012345678901234567890';
  const [server, action] = invoked(`{"big":${digits},"list":[-9007199254740993, 1.5, 12],"text":"1234567890123456789 \\"quoted\\""}`);
  assert.deepEqual(action.arguments, {
    big: BigInt(digits),
    list: [-9007199254740993n, 1.5, 12],
    text: '1234567890123456789 "quoted"',
  });
  assert.ok(action.rawArguments.includes(digits));
  server.reply(action.slot, {
    tool: { content: [], structuredContent: { big: BigInt(digits), raw: new RawJson('1.000e2'), plain: 1 } },
  });
  assert.ok(server.poll().text.includes(`{"big":${digits},"raw":1.000e2,"plain":1}`));
  for (const text of ['[12345678901234567890,"12345678901234567890\\n"]', '{"a":{"b":[0.1,9007199254740991]}}']) {
    assert.equal(stringifyJson(parseJson(text)), text);
  }
  assert.throws(() => parseJson('[12345678901234567890'), SyntaxError);
});

test('actions are frozen, and parsed once', () => {
  const [, action] = invoked('{"a":1}');
  assert.ok(Object.isFrozen(action));
  assert.equal(action.arguments, action.arguments);
  assert.equal(action.context, action.context);
  assert.throws(() => {
    action.name = 'other';
  }, TypeError);
});

test('a context tells until the answer, and what was read afterwards', () => {
  const [server, action] = invoked();
  const { context } = action;
  assert.equal(context.requestId, 1);
  assert.equal(context.era, 'modern');
  assert.deepEqual(context.clientInfo, { name: 'c', version: '1' });
  assert.equal(context.requireCapability('sampling').code, -32021);
  server.reply(action.slot, { failed: true });
  assert.equal(context.version, '2026-07-28');
  server.handle(call(2), 0);
  server.poll();
  const second = server.poll();
  server.abandon(second.slot);
  assert.throws(() => second.context.version, isMisuse(/slot is not open/));
});

test('a slot that is collected abandons its request at the next verb', async () => {
  const server = new Server(definition);
  let told = 0;
  server.onabandon = () => told++;
  server.handle(call(1), 0);
  assert.equal(server.poll().kind, 'invoke');
  assert.equal(server.poll(), undefined);
  for (let at = 0; at < 50 && told === 0; at++) {
    await turn();
    globalThis.gc();
  }
  assert.equal(told, 1);
  assert.equal(server.poll(), undefined);
  server.handleTimeout();
  assert.match(server.poll().text, /"id":1,.*(isError|error)/);
});

test('seeds and clocks may be given: the same inputs give the same actions', () => {
  const sealed = Definition.builder('s', '1').tool({ name: 'any' }).seal(new Uint8Array(32).fill(1)).build();
  const once = () => {
    const server = new Server(sealed, { seed: new Uint8Array(32) });
    const now = { mono: 5, unix: 1_800_000_000_000 };
    server.handle(call(1).replace('clientCapabilities":{}', 'clientCapabilities":{"elicitation":{"form":{}}}'), now);
    const requests = { who: { method: 'elicitation/create', params: { message: '?', requestedSchema: { type: 'object', properties: {} } } } };
    server.reply(server.poll().slot, { input: { requests, state: 'kept' } }, now);
    return server.poll().text;
  };
  assert.match(once(), /requestState/);
  assert.equal(once(), once());
});
