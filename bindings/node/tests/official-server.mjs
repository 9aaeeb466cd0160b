// The adder on the official TypeScript server, on stdio, in both eras.

import { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const NUMBER = { type: 'number' };

await serveStdio(() => {
  const server = new Server({ name: 'official', version: '1.0.0' }, { capabilities: { tools: {} } });
  const inputSchema = { type: 'object', properties: { a: NUMBER, b: NUMBER }, required: ['a', 'b'] };
  server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'add', inputSchema }] }));
  server.setRequestHandler('tools/call', ({ params: { arguments: { a, b } } }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }));
  return server;
});
