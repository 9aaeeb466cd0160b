// Serves a fixture over HTTP: where it listens is the one line of output, and it ends when its input does.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import {
    createMcpHandler,
    hostHeaderValidationResponse,
    isLegacyRequest,
    localhostAllowedHostnames,
    localhostAllowedOrigins,
    originValidationResponse,
    WebStandardStreamableHTTPServerTransport
} from '@modelcontextprotocol/server';

const onerror = error => console.error(error);

/** `factory(context)` makes a server for a modern request, or for a legacy session. */
export async function serveHttp(factory, bus) {
    const modern = createMcpHandler(factory, { legacy: 'reject', bus, onerror });
    const sessions = new Map();
    const listener = getRequestListener(async request => {
        const rejected =
            hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
            originValidationResponse(request, localhostAllowedOrigins());
        if (rejected) return rejected;
        return (await isLegacyRequest(request)) ? legacy(request, factory, sessions) : modern.fetch(request);
    });
    const server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    console.log(`http://127.0.0.1:${server.address().port}/mcp`);
    process.stdin.resume().once('end', () => process.exit(0));
}

/** The sessions of the legacy era, as the SDK's documentation wires them. */
async function legacy(request, factory, sessions) {
    const id = request.headers.get('mcp-session-id');
    if (sessions.has(id)) return sessions.get(id).handleRequest(request);
    if (id !== null) return Response.json({ error: 'no such session' }, { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: id => void sessions.set(id, transport),
        onsessionclosed: id => void sessions.delete(id)
    });
    transport.onerror = onerror;
    const server = await factory({ era: 'legacy' });
    await server.connect(transport);
    return transport.handleRequest(request);
}
