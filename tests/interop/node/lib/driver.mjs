// Runs the cells over one SDK: a server process per cell, a time limit, one JSON line per verdict.
import { setTimeout as sleep } from 'node:timers/promises';
import { cells } from './cells.mjs';
import { serve } from './served.mjs';

const CELL_MS = 1_000 * Number(process.env.INTEROP_CELL_SECONDS ?? 10);
const CLOSE_MS = 4_000;

/** Thrown by an adapter for what its SDK does not offer in an era. */
export class Cannot extends Error {}

export const emptyRecord = () => ({ logs: [], updated: [], toolsChanged: 0, elicited: [], sampled: [] });

/** The answers of the table "What a client answers" for elicitation and sampling. */
export const elicitAnswer = peer => params => {
    peer.seen.elicited.push(params);
    return peer.elicitAction === 'accept' ? { action: 'accept', content: { name: 'Ada' } } : { action: 'decline' };
};
export const sampleAnswer = peer => params => {
    peer.seen.sampled.push(params);
    const { content } = params.messages[0];
    const said = (Array.isArray(content) ? content[0] : content).text;
    return {
        role: 'assistant',
        model: 'fixture-model',
        stopReason: 'endTurn',
        content: { type: 'text', text: `You said: ${said}` }
    };
};

/**
 * `open(era, server)` starts to connect and gives, at once, `{ready, pid(), close()}`: `ready` resolves to the
 * connected peer, and the other two work while it has not, so that a connect that hangs is cleaned up too.
 * The server is `{command, args}`, or `{url}` of one that has been started.
 */
export async function main(open) {
    const words = process.argv.slice(2);
    const http = words[0] === '--http';
    const [era, command, ...args] = http ? words.slice(1) : words;
    if (!['legacy', 'modern'].includes(era) || !command) {
        console.error(`usage: ${process.argv[1]} [--http] legacy|modern COMMAND [ARGUMENT...]`);
        process.exit(2);
    }
    for (const cell of process.env.INTEROP_CELLS?.split(',') ?? Object.keys(cells)) {
        const run = cells[cell] ?? (() => Promise.reject(new Error(`no cell ${cell}`)));
        report(cell, await judge(era, run, open, { command, args }, http));
    }
    process.exit(0);
}

async function judge(era, run, open, server, http) {
    const served = http ? serve(server) : undefined;
    let connection;
    const work = async () => {
        connection = open(era, served ? { url: await served.url } : server);
        const peer = await connection.ready;
        if (peer.era !== era) throw new Error(`connected in the ${peer.era} era`);
        await run(peer);
    };
    const limit = new AbortController();
    const tooLate = sleep(CELL_MS, undefined, limit).then(() => { throw new Error(`no end within ${CELL_MS} ms`); });
    tooLate.catch(() => {});
    try {
        await Promise.race([work(), tooLate]);
        return { verdict: 'pass', why: '' };
    } catch (error) {
        if (error instanceof Cannot) return { verdict: 'cannot', why: error.message };
        console.error(error);
        return { verdict: 'fail', why: oneLine(error) };
    } finally {
        limit.abort();
        if (connection) await end(connection);
        await served?.end();
    }
}

/** Closes politely; the SDK waits for the child. When that takes too long the child is killed by its pid. */
async function end(connection) {
    const pid = connection.pid();
    const late = sleep(CLOSE_MS, 'late', { ref: false });
    const outcome = await Promise.race([connection.close().catch(error => console.error(error)), late]);
    if (outcome === 'late' && pid) process.kill(pid, 'SIGKILL');
}

const oneLine = error => String(error?.message ?? error).replace(/\s+/g, ' ').slice(0, 400);

function report(cell, outcome) {
    process.stdout.write(`${JSON.stringify({ cell, ...outcome })}\n`);
}
