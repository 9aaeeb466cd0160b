// A server on stdio as a plain loop: no event loop, no stream, no promise.
// @ts-check

import { readSync, writeSync } from 'node:fs';

import { Definition, Server } from 'mcp-sansio';

const definition = Definition.builder('adder', '1.0.0')
  .tool({
    name: 'add',
    description: 'Adds two numbers',
    inputSchema: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
  })
  .build();

const server = new Server(definition);
const input = Buffer.alloc(64 * 1024);

while (!server.isClosed) {
  const length = readSync(0, input);
  if (length > 0) server.handle(input.subarray(0, length));
  else server.handleEof();

  for (let action; (action = server.poll()) !== undefined; ) {
    switch (action.kind) {
      case 'write':
        for (let bytes = action.bytes; bytes.length > 0; ) bytes = bytes.subarray(writeSync(1, bytes));
        server.written(action.byteLength);
        break;
      case 'invoke': {
        if (action.call !== 'tool') break;
        const { a, b } = action.arguments;
        server.reply(action.slot, { tool: { content: [{ type: 'text', text: `${Number(a) + Number(b)}` }] } });
        break;
      }
      case 'diagnostic':
        writeSync(2, `${action.text}\n`);
    }
  }
}
