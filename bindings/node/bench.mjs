// What a call costs in this process, frame to frame, in microseconds: the median of some repetitions.
//
//   node bench.mjs [CALLS]
//
// `call` is one tools/call with a handler that reads its arguments; `boundary` is the same traffic of texts and numbers
// through the native part, where a reply is written once and arguments are not parsed; `floor` is parsing the request
// and writing the answer with JSON alone.

import { Definition, RawJson, Server } from 'mcp-sansio';

const CALLS = Number(process.argv[2] ?? 100_000);
const REPETITIONS = 5;
const META =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}';

const definition = Definition.builder('bench', '1.0.0')
  .tool({
    name: 'add',
    inputSchema: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a'] },
  })
  .build();

const frame = (id, a) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"add","arguments":{"a":${a},"b":2},${META}}}\n`;
const session = (id, a) =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"add","arguments":{"a":${a},"b":2}}}\n`;
const INITIALIZE =
  '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n';

function drive(server, input, answer) {
  server.handle(input);
  let length = 0;
  for (let action; (action = server.poll()) !== undefined; ) {
    if (action.kind === 'write') {
      length += action.text.length;
      server.written(action.byteLength);
    } else if (action.kind === 'invoke') server.reply(action.slot, answer(action));
  }
  return length;
}

const sum = ({ arguments: { a, b } }) => ({ tool: { content: [{ type: 'text', text: String(a + b) }] } });
const READY = { tool: new RawJson('{"content":[{"type":"text","text":"3"}]}') };

const subjects = {
  'call, modern': () => {
    const server = new Server(definition);
    return (at) => drive(server, frame(at, at), sum);
  },
  'call, legacy': () => {
    const server = new Server(definition);
    drive(server, INITIALIZE, sum);
    return (at) => drive(server, session(at, at), sum);
  },
  'call, modern, bytes': () => {
    const server = new Server(definition);
    return (at) => drive(server, Buffer.from(frame(at, at)), sum);
  },
  'boundary, modern': () => {
    const server = new Server(definition);
    return (at) => drive(server, frame(at, at), () => READY);
  },
  'floor (JSON alone)': () => (at) => {
    const { id, params } = JSON.parse(frame(at, at));
    const { a, b } = params.arguments;
    return JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: String(a + b) }] } }).length;
  },
};

const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
for (let repetition = 0; repetition < REPETITIONS; repetition++) {
  for (const [name, make] of Object.entries(subjects)) {
    const call = make();
    for (let at = 0; at < 2_000; at++) call(at);
    const before = process.cpuUsage();
    let length = 0;
    for (let at = 0; at < CALLS; at++) length += call(at);
    const { user, system } = process.cpuUsage(before);
    if (length < CALLS) throw new Error('nothing was answered');
    times[name].push((user + system) / CALLS);
  }
}
for (const [name, all] of Object.entries(times)) {
  all.sort((one, other) => one - other);
  const spread = `${all[0].toFixed(2)} to ${all.at(-1).toFixed(2)}`;
  console.log(`${name.padEnd(22)} ${all[REPETITIONS >> 1].toFixed(2)} µs CPU a call (${spread})`);
}
