// Starts a server that listens, and puts it away.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const CLOSE_MS = 5_000;

/** Starts the command; the first line that it writes is the URL. */
export function serve({ command, args }) {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.on('error', () => {});
    const lines = createInterface({ input: child.stdout });
    const said = once(lines, 'line').then(([line]) => new URL(line));
    const ended = once(child, 'exit');
    const early = ended.then(([code]) => Promise.reject(new Error(`the server ended at once: ${code}`)));
    early.catch(() => {});
    return {
        url: Promise.race([said, early]),
        /** It sees the end of its input; when that takes too long it is killed by its pid. */
        async end() {
            child.stdin.end();
            const late = sleep(CLOSE_MS, 'late', { ref: false });
            if ((await Promise.race([ended, late])) === 'late') child.kill('SIGKILL');
        }
    };
}
