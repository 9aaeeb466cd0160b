// Drives a fixture server with @modelcontextprotocol/sdk 1.x, which knows the legacy era only. See ../FIXTURE.md.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CallToolResultSchema,
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema,
    LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema
} from '@modelcontextprotocol/sdk/types.js';
import { ROOTS } from './lib/cells.mjs';
import { Cannot, elicitAnswer, emptyRecord, main, sampleAnswer } from './lib/driver.mjs';

function open(era, server) {
    if (era === 'modern') {
        const ready = Promise.reject(new Cannot('@modelcontextprotocol/sdk 1.x knows no revision after 2025-11-25'));
        return { ready, pid: () => undefined, close: async () => {} };
    }
    const transport = server.url ? new StreamableHTTPClientTransport(server.url) : new StdioClientTransport(server);
    const client = new Client(
        { name: 'interop-client1', version: '1.0.0' },
        { capabilities: { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } } }
    );
    const peer = adapter(client);
    const close = async () => {
        await transport.terminateSession?.();
        await client.close();
    };
    return { ready: client.connect(transport).then(() => peer), pid: () => transport.pid, close };
}

function adapter(client) {
    const pages = {
        tools: cursor => client.listTools(cursor),
        prompts: cursor => client.listPrompts(cursor),
        resources: cursor => client.listResources(cursor),
        resourceTemplates: cursor => client.listResourceTemplates(cursor)
    };
    const peer = {
        era: 'legacy',
        seen: emptyRecord(),
        elicitAction: 'accept',
        list: kind => walk(pages, kind === 'templates' ? 'resourceTemplates' : kind),
        call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options),
        prompt: (name, args) => client.getPrompt({ name, arguments: args }),
        read: uri => client.readResource({ uri }),
        complete: (ref, name, value) => client.complete({ ref, argument: { name, value } }),
        setLevel: level => client.setLoggingLevel(level),
        watch: async uri => {
            await client.subscribeResource({ uri });
            return () => client.unsubscribeResource({ uri });
        }
    };
    const { seen } = peer;
    client.setRequestHandler(ElicitRequestSchema, request => elicitAnswer(peer)(request.params));
    client.setRequestHandler(CreateMessageRequestSchema, request => sampleAnswer(peer)(request.params));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: ROOTS.map(uri => ({ uri })) }));
    client.setNotificationHandler(LoggingMessageNotificationSchema, n => void seen.logs.push(n.params));
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, n => void seen.updated.push(n.params.uri));
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (seen.toolsChanged += 1));
    return peer;
}

async function walk(pages, kind) {
    const items = [];
    let cursor;
    do {
        const page = await pages[kind](cursor === undefined ? undefined : { cursor });
        if (kind === 'tools' && page.tools.length > 50) throw new Error(`a page of ${page.tools.length} tools`);
        items.push(...page[kind]);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return items;
}

await main(open);
