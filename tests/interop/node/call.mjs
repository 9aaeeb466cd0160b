// Lists the tools of a server and calls `add`, in the era that is wanted, with @modelcontextprotocol/client 2.x:
//     node call.mjs legacy|modern URL|COMMAND [ARGUMENT...]
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [era, command, ...args] = process.argv.slice(2);
const transport = command.startsWith('http:')
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args });
const client = new Client(
    { name: 'call', version: '1.0.0' },
    { versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' } }
);
await client.connect(transport);
const { tools } = await client.listTools();
const answer = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } });
const failed = await client.callTool({ name: 'divide', arguments: { a: 1, b: 0 } });
console.log(client.getProtocolEra(), tools.map(tool => tool.name).join(), answer.content[0].text, failed.isError);
await transport.terminateSession?.();
await client.close();
