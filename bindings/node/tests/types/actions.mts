// What the types promise, to the letter: an action is told apart by its kind, and nothing is left over.

import { Client, Definition, HttpClient, HttpService, Server, type ClientAction, type HttpClientAction, type ServerAction } from 'mcp-sansio';

function never(value: never): never {
  throw new Error(String(value));
}

export function serve(server: Server, action: ServerAction): void {
  switch (action.kind) {
    case 'write':
      return server.written(action.byteLength satisfies number);
    case 'invoke':
      switch (action.call) {
        case 'tool':
          return server.reply(action.slot, { tool: { content: [{ type: 'text', text: action.name }] } });
        case 'prompt':
          return server.reply(action.slot, { prompt: { messages: [] } });
        case 'read':
          return server.reply(action.slot, { resource: { contents: [{ uri: action.uri, text: '' }] } });
        case 'complete':
          return server.reply(action.slot, { completion: { values: [action.value] } });
        case 'list':
          return server.reply(action.slot, { list: { items: [], nextCursor: action.cursor } });
        case 'raw':
          return server.reply(action.slot, { raw: {} });
        case 'subscribe':
        case 'unsubscribe':
          return server.reply(action.slot, { empty: null });
        default:
          return never(action);
      }
    case 'cancelled':
    case 'notified':
    case 'answered':
    case 'diagnostic':
    case 'closed':
      return;
    default:
      return never(action);
  }
}

export function kinds(action: ClientAction | HttpClientAction): string {
  switch (action.kind) {
    case 'done':
      return action.error?.kind ?? JSON.stringify(action.result);
    case 'write':
    case 'connected':
    case 'renewed':
    case 'progress':
    case 'need_input':
    case 'cancelled_input':
    case 'invoke':
    case 'cancelled_invoke':
    case 'notified':
    case 'listening':
    case 'diagnostic':
    case 'closed':
    case 'fetch':
    case 'abort':
    case 'unauthorized':
      return action.kind;
    default:
      return never(action);
  }
}

const definition: Definition = Definition.builder('a', '1').tool({ name: 't' }).build();
// @ts-expect-error: a definition is built, not written
new Server({});
new Server(definition).reply(null as never, { text: 'a text' });
// @ts-expect-error: a text is a string
new Server(definition).reply(null as never, { errorText: 5 });
export const service = new HttpService(definition, {
  hosts: (host) => host.endsWith('.example'),
  origins: ['https://here.example'],
  owner: ({ openedBy, principal }) => openedBy === (principal satisfies string | undefined),
});
// @ts-expect-error: a function says whether
new HttpService(definition, { hosts: (host) => host });
// @ts-expect-error: a reply has one of the kinds
new Server(definition).reply(null as never, { tol: {} });
// @ts-expect-error: an action cannot be changed
(null as unknown as ServerAction).kind = 'write';
export const clients: [Client, HttpClient] = [
  new Client({ name: 'a', version: '1', connect: '2025-11-25' }),
  new HttpClient({ name: 'a', version: '1' }, 'http://localhost'),
];
