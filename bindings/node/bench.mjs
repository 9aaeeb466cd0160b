// What a call costs in this process, from frame to frame, in microseconds of processor time.
//
//   node bench.mjs [--json] [--quick]
//
// `call` is one tools/call with a handler that reads its arguments and makes a result of one text, or of structured
// content too; `boundary` is the same traffic through the native part with a text that is there and arguments that nobody
// reads; `floor` parses the request and writes the answer with JSON alone. All take the same frames, which are made
// beforehand. The subjects take turns; the least of many repetitions counts, each long enough to pay for its garbage.

import { Definition, Server } from 'mcp-sansio';

const quick = process.argv.includes('--quick');
const REPETITIONS = quick ? 3 : 25;
const CALLS = quick ? 2_000 : 10_000;
/** Frames that are gone through again and again, no two alike. */
const POOL = 500;
const META =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}';
const INITIALIZE =
  '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n';

const definition = Definition.builder('bench', '1.0.0')
  .tool({
    name: 'add',
    inputSchema: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['a'] },
  })
  .build();

/** A string that is flat, as one is that was read: not the rope that a template makes. */
const flat = (text) => Buffer.from(text).toString('latin1');
const pool = (params) =>
  Array.from({ length: POOL }, (_, at) =>
    flat(`{"jsonrpc":"2.0","id":${100_000 + at},"method":"tools/call","params":{"name":"add","arguments":{"a":${at},"b":2}${params}}}\n`),
  );
const modern = pool(`,${META}`);
const legacy = pool('');
const bytes = modern.map((frame) => Buffer.from(frame));

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
/** A result that is more than one text, and so has to be written as JSON and read again. */
const rich = ({ arguments: { a, b } }) => ({
  tool: { content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } },
});
const READY = { text: '3' };

function answered(frame) {
  const { id, params } = JSON.parse(frame);
  const { a, b } = params.arguments;
  const result = { content: [{ type: 'text', text: String(a + b) }] };
  return `${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`.length;
}

function opened() {
  const server = new Server(definition);
  drive(server, INITIALIZE, sum);
  return server;
}

const subject = (frames, server, answer) => [frames, (frame) => drive(server, frame, answer)];
/** By case; the first is its floor. */
const cases = {
  modern: {
    floor: [modern, answered],
    boundary: subject(modern, new Server(definition), () => READY),
    call: subject(modern, new Server(definition), sum),
    'call, of bytes': subject(bytes, new Server(definition), sum),
    'call, structured': subject(modern, new Server(definition), rich),
  },
  legacy: {
    floor: [legacy, answered],
    boundary: subject(legacy, opened(), () => READY),
    call: subject(legacy, opened(), sum),
    'call, structured': subject(legacy, opened(), rich),
  },
};

function run([frames, call], calls) {
  let length = 0;
  for (let at = 0; at < calls; at++) length += call(frames[at % POOL]);
  if (length < calls) throw new Error('not every call was answered');
}

function cost(subject) {
  const before = process.cpuUsage();
  run(subject, CALLS);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / CALLS;
}

const seen = Object.entries(cases).map(([name, subjects]) => [name, Object.entries(subjects).map(([name, one]) => [name, [], one])]);
const all = seen.flatMap(([, subjects]) => subjects);
for (const [, , one] of all) run(one, 2 * CALLS);
for (let repetition = 0; repetition < REPETITIONS; repetition++) for (const [, costs, one] of all) costs.push(cost(one));

if (process.argv.includes('--json')) {
  console.log(JSON.stringify(seen.map(([name, subjects]) => [name, subjects.map(([subject, costs]) => [subject, costs])])));
} else {
  for (const [name, subjects] of seen) {
    for (const [subject, costs] of subjects) {
      costs.sort((one, other) => one - other);
      const [best, median, worst] = [costs[0], costs[costs.length >> 1], costs.at(-1)].map((micros) => micros.toFixed(2));
      console.log(`${`${name}, ${subject}`.padEnd(26)} ${best} µs a call (median ${median}, worst ${worst})`);
    }
  }
}
