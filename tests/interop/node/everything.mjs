// The reference server over HTTP, as the fixture servers are: on a port of its own of the loopback interface, which is
// the one line of output, until its input ends. Left alone it listens on all interfaces, at a port that is agreed on.
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function (_port, ...rest) {
    this.once('listening', () => process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`));
    return listen.call(this, 0, '127.0.0.1', ...rest);
};
console.log = console.error;
process.stdin.resume().once('end', () => process.exit(0));
await import('./node_modules/@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js');
