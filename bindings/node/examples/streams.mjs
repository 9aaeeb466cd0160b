// The same server on Node streams, with asynchronous handlers and deadlines.
// @ts-check

import { setTimeout as sleep } from 'node:timers/promises';

import { Definition, Server } from 'mcp-sansio';

const definition = Definition.builder('slow-adder', '1.0.0')
  .tool({
    name: 'add',
    description: 'Adds two numbers, after a while',
    inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  })
  .limits({ invocationMs: 30_000 })
  .build();

const server = new Server(definition);
server.onabandon = drive;

/** @param {import('mcp-sansio').ToolInvocation} call */
async function run(call) {
  server.progress(call.slot, { progress: 1, total: 2 });
  drive();
  await sleep(10);
  const { a, b } = call.arguments;
  return { content: [{ type: /** @type {const} */ ('text'), text: `${Number(a) + Number(b)}` }] };
}

/** @type {NodeJS.Timeout | undefined} */
let timer;

function drive() {
  for (let action; (action = server.poll()) !== undefined; ) {
    if (action.kind === 'write') {
      const { byteLength, text } = action;
      process.stdout.write(text, () => {
        server.written(byteLength);
        read();
      });
    } else if (action.kind === 'invoke' && action.call === 'tool') {
      const call = action;
      run(call)
        .then((tool) => server.reply(call.slot, { tool }), () => server.abandon(call.slot))
        .finally(drive);
    } else if (action.kind === 'diagnostic') {
      console.error(action.text);
    }
  }
  clearTimeout(timer);
  const timeout = server.pollTimeout();
  if (timeout !== undefined && !server.isClosed) {
    timer = setTimeout(() => {
      server.handleTimeout();
      drive();
    }, Math.max(0, timeout.at - performance.now()));
  }
  read();
}

function read() {
  if (server.wantsInput) process.stdin.resume();
  else process.stdin.pause();
}

process.stdin.on('data', (/** @type {Buffer} */ chunk) => {
  server.handle(chunk);
  drive();
});
process.stdin.on('end', () => {
  server.handleEof();
  drive();
});
