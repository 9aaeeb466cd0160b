// Drives a fixture server with @modelcontextprotocol/client 2.x, in either era. See ../FIXTURE.md.
import { Client, LOG_LEVEL_META_KEY, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ROOTS } from './lib/cells.mjs';
import { elicitAnswer, emptyRecord, main, sampleAnswer } from './lib/driver.mjs';

function open(era, server) {
    const transport = server.url ? new StreamableHTTPClientTransport(server.url) : new StdioClientTransport(server);
    const client = new Client(
        { name: 'interop-client2', version: '1.0.0' },
        {
            capabilities: { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } },
            // "auto" probes with server/discover, as a host does that does not know its server.
            versionNegotiation: { mode: era === 'modern' ? 'auto' : 'legacy' }
        }
    );
    const peer = adapter(client);
    const ready = client.connect(transport).then(() => Object.assign(peer, { era: client.getProtocolEra() }));
    const close = async () => {
        await transport.terminateSession?.();
        await client.close();
    };
    return { ready, pid: () => transport.pid, close };
}

function adapter(client) {
    const lists = {
        tools: async () => (await client.listTools()).tools,
        prompts: async () => (await client.listPrompts()).prompts,
        resources: async () => (await client.listResources()).resources,
        templates: async () => (await client.listResourceTemplates()).resourceTemplates
    };
    const peer = {
        seen: emptyRecord(),
        elicitAction: 'accept',
        list: kind => lists[kind](),
        call: (name, args, { logLevel, ...options } = {}) =>
            client.callTool(
                { name, arguments: args, ...(logLevel && { _meta: { [LOG_LEVEL_META_KEY]: logLevel } }) },
                options
            ),
        prompt: (name, args) => client.getPrompt({ name, arguments: args }),
        read: uri => client.readResource({ uri }),
        complete: (ref, name, value) => client.complete({ ref, argument: { name, value } }),
        setLevel: level => client.setLoggingLevel(level),
        watch: uri => (peer.era === 'modern' ? listen(client, uri) : subscribe(client, uri))
    };
    const { seen } = peer;
    client.setRequestHandler('elicitation/create', request => elicitAnswer(peer)(request.params));
    client.setRequestHandler('sampling/createMessage', request => sampleAnswer(peer)(request.params));
    client.setRequestHandler('roots/list', () => ({ roots: ROOTS.map(uri => ({ uri })) }));
    client.setNotificationHandler('notifications/message', n => void seen.logs.push(n.params));
    client.setNotificationHandler('notifications/resources/updated', n => void seen.updated.push(n.params.uri));
    client.setNotificationHandler('notifications/tools/list_changed', () => void (seen.toolsChanged += 1));
    return peer;
}

async function listen(client, uri) {
    const filter = { toolsListChanged: true, resourceSubscriptions: [uri] };
    const subscription = await client.listen(filter);
    const { toolsListChanged, resourceSubscriptions } = subscription.honoredFilter;
    if (!toolsListChanged || resourceSubscriptions?.[0] !== uri) {
        throw new Error(`the acknowledged filter is ${JSON.stringify(subscription.honoredFilter)}`);
    }
    return () => subscription.close();
}

async function subscribe(client, uri) {
    await client.subscribeResource({ uri });
    return () => client.unsubscribeResource({ uri });
}

await main(open);
