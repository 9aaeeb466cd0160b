// Playing a file: what all roles have in common.

import { compact, Kept, readTree } from './tree.mjs';

export const FEEDS = ['whole', 'bytes', 'trailing'];
/** How much of the next frame a trailing feed delivers early. */
const TRAILING = 9;

export class Mismatch extends Error {}

/** Reads a file into steps: each has a `verb`, its `value` and its other members, as trees. */
export function readFile(text, verbs) {
  const file = readTree(text);
  const member = (name) => file.members.get(name);
  const steps = member('steps').items.map((step) => {
    const verb = verbs.find((name) => step.members.has(name));
    if (verb === undefined) throw new Error(`no step with ${[...step.members.keys()]}`);
    return { verb, value: step.members.get(verb), more: step.members };
  });
  const plain = (name) => (member(name) === undefined ? undefined : JSON.parse(member(name).text));
  return {
    name: plain('name'),
    role: plain('role'),
    transport: plain('transport') ?? 'stdio',
    fixture: plain('fixture'),
    options: plain('http'),
    session: plain('session'),
    steps,
  };
}

/** The bytes that a value of a step means: JSON, a text, or digits. */
export function bytesOf(tree, kept) {
  if (tree.kind === 'string') return Buffer.from(tree.value);
  if (tree.kind === 'object' && tree.members.size === 1 && tree.members.has('hex')) {
    return Buffer.from(tree.members.get('hex').value.replace(/\s/g, ''), 'hex');
  }
  return Buffer.from(kept.fill(compact(tree.text)));
}

function lineOf(step, kept) {
  if (step.verb !== 'in' || step.more.has('of')) return undefined;
  const hex = step.value.kind === 'object' && step.value.members.has('hex') && step.value.members.size === 1;
  const bytes = bytesOf(step.value, kept);
  return hex ? bytes : Buffer.concat([Buffer.from(kept.fill(bytes.toString('utf8'))), Buffer.from('\n')]);
}

/** A machine, the time, and what it has said that no step has asked for yet. */
export class Stage {
  constructor(mcp, machine, feed) {
    this.mcp = mcp;
    this.machine = machine;
    this.feed = feed;
    this.now = { mono: 0, unix: 1_800_000_000_000 };
    this.kept = new Kept();
    this.actions = [];
    this.remarks = [];
    this.early = 0;
    this.names = new Map();
  }

  play(file) {
    let at = 0;
    let verb = 'session';
    try {
      if (file.session !== undefined) this.open(file.session.version, file.session.capabilities ?? {});
      for (const [index, step] of file.steps.entries()) {
        at = index + 1;
        verb = step.verb;
        this.step(step, file.steps.slice(at));
      }
      at += 1;
      verb = 'end of file';
      this.nothingLeft();
    } catch (error) {
      const problem = error instanceof this.mcp.McpError ? `refused: ${error.message}` : error.message;
      throw new Mismatch(`${file.name} (${this.feed}), step ${at} (${verb}): ${problem}`, { cause: error });
    }
  }

  nothingLeft() {
    this.drain();
    if (this.actions.length > 0) throw new Error(`the machine said more: ${show(this.actions[0])}`);
  }

  step(step, rest) {
    const { value } = step;
    switch (step.verb) {
      case 'in':
        return this.input(step, rest);
      case 'out': {
        const action = this.event();
        if (action.kind !== 'write') throw new Error(`instead of a frame: ${show(action)}`);
        return this.kept.compare(value.text, action.text.trimEnd());
      }
      case 'end':
        return this.tolerant(() => this.machine.handleEof(this.now));
      case 'close':
        return this.machine.close(this.now);
      case 'closed': {
        const action = this.event();
        if (action.kind !== 'closed' || action.why !== value.value) throw new Error(`instead: ${show(action)}`);
        return undefined;
      }
      case 'advance_ms': {
        const millis = Number(value.value);
        this.now = { mono: this.now.mono + millis, unix: this.now.unix + millis };
        return this.machine.handleTimeout(this.now);
      }
      case 'timeout': {
        this.drain();
        const expected = JSON.parse(value.text);
        const timeout = this.machine.pollTimeout();
        if (timeout === undefined) throw new Error('nothing is waited for');
        const inMs = Math.max(0, Math.floor(timeout.at - this.now.mono));
        if (inMs !== expected.in_ms || timeout.kind !== expected.kind) {
          throw new Error(`the deadline is ${timeout.kind} in ${inMs} ms`);
        }
        return undefined;
      }
      case 'idle': {
        this.nothingLeft();
        const timeout = this.machine.pollTimeout();
        if (timeout !== undefined) throw new Error(`waiting for ${timeout.kind}`);
        return undefined;
      }
      case 'quiet':
        return this.nothingLeft();
      case 'diagnostic': {
        this.drain();
        const found = this.remarks.findIndex((remark) => remark.what === value.value);
        if (found < 0) throw new Error(`no such remark, but ${this.remarks.map((remark) => remark.what)}`);
        this.remarks.splice(0, found + 1);
        return undefined;
      }
      default:
        return this.take(step);
    }
  }

  input(step, rest) {
    let bytes = lineOf(step, this.kept).subarray(this.early);
    this.early = 0;
    if (this.feed === 'bytes') {
      for (const byte of bytes) this.handle(Uint8Array.of(byte));
      return;
    }
    if (this.feed === 'trailing') {
      const end = rest.findIndex((later) => later.verb === 'end');
      const next = (end < 0 ? rest : rest.slice(0, end)).find((later) => later.verb === 'in');
      const line = next === undefined ? Buffer.alloc(0) : lineOf(next, this.kept).subarray(0, TRAILING);
      // What a step still has to fill in is not known yet.
      const stop = line.findIndex((byte) => byte === 0x0a || byte === 0x24);
      const ahead = stop < 0 ? line : line.subarray(0, stop);
      this.early = ahead.length;
      bytes = Buffer.concat([bytes, ahead]);
    }
    this.handle(bytes);
  }

  handle(bytes) {
    this.tolerant(() => this.machine.handle(bytes, this.now));
  }

  /** A fatal error shows as the end of the connection too, which a step must expect. */
  tolerant(act) {
    try {
      act();
    } catch (error) {
      if (!(error instanceof this.mcp.LimitError)) throw error;
    }
  }

  say(line) {
    this.handle(Buffer.from(`${line}\n`));
  }

  /** The next thing that is no remark. */
  event() {
    this.drain();
    if (this.actions.length === 0) throw new Error('nothing happened');
    return this.actions.shift();
  }

  drain() {
    for (let action; (action = this.machine.poll()) !== undefined; ) {
      if (!Object.isFrozen(action)) throw new Error('an action is not frozen');
      if (action.kind === 'write') {
        if (action.text.indexOf('\n') !== action.text.length - 1) throw new Error('a frame is one line');
        if (action.bytes.length !== action.byteLength) throw new Error('a frame has another length');
        this.machine.written(action.byteLength, this.now);
      }
      if (action.kind === 'diagnostic') this.remarks.push(action);
      else this.actions.push(action);
    }
  }

  parse(tree) {
    return this.mcp.parseJson(this.kept.fill(tree.text));
  }

  raw(tree) {
    return new this.mcp.RawJson(this.kept.fill(tree.text));
  }

  /** What a step calls something. */
  keep(step, what) {
    const name = step.more.get('as');
    if (name !== undefined) this.names.set(name.value, what);
  }

  named(tree) {
    const found = this.names.get(tree.value);
    if (found === undefined) throw new Error(`nothing is called ${tree.text}`);
    return found;
  }

  checkSent(step, sent) {
    const wanted = step.more.get('sent');
    if (wanted !== undefined && wanted.value !== sent) throw new Error(`sent: ${sent}`);
  }

  checkReason(step, reason) {
    const wanted = step.more.get('reason');
    if (wanted !== undefined && wanted.value !== reason) throw new Error(`the reason is ${reason}`);
  }

  /** Whether something is refused, as a step says. */
  refused(step, act) {
    let done;
    try {
      done = act();
    } catch (error) {
      if (step.more.has('refused') && error instanceof this.mcp.McpError) return undefined;
      throw error;
    }
    if (step.more.has('refused')) throw new Error('the machine took it');
    return done;
  }
}

export function show(action) {
  const shown = { ...action };
  delete shown.slot;
  return JSON.stringify(shown, (_, value) => (typeof value === 'bigint' ? `${value}` : value)).slice(0, 500);
}
