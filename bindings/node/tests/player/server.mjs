// The steps of a server.

import { Stage, show } from './stage.mjs';

export const SERVER_VERBS = [
  'invoke',
  'cancelled',
  'notified',
  'answered',
  'reply',
  'abandon',
  'report',
  'log',
  'notify',
  'publish',
  'request',
  'cancel_request',
];

export const HANDSHAKE = (version, capabilities) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 'session',
    method: 'initialize',
    params: { protocolVersion: version, capabilities, clientInfo: { name: 'c', version: '1' } },
  });
export const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

/** An invocation as a file sees it: members as JSON text. */
function describe(mcp, invocation) {
  const { context } = invocation;
  const all = { call: invocation.call, ...circumstances(context) };
  const texts = {};
  switch (invocation.call) {
    case 'tool':
    case 'prompt':
      all.name = invocation.name;
      texts.arguments = invocation.rawArguments;
      // What was parsed says the same.
      all.parsed = invocation.arguments;
      break;
    case 'read':
      all.uri = invocation.uri;
      break;
    case 'complete': {
      const { type, name } = invocation.reference;
      all.ref = type === 'prompt' ? { type: 'ref/prompt', name } : { type: 'ref/resource', uri: name };
      all.argument = invocation.argument;
      all.value = invocation.value;
      all.context = invocation.filled;
      break;
    }
    case 'list':
      all.list = invocation.list;
      all.cursor = invocation.cursor ?? null;
      break;
    case 'raw':
      all.method = invocation.method;
      texts.params = invocation.rawParams;
      break;
    default:
      all.uri = invocation.uri;
  }
  if (invocation.version !== context.version || invocation.round !== context.round) throw new Error('two circumstances');
  for (const [name, value] of Object.entries(all)) texts[name] ??= mcp.stringifyJson(value);
  return texts;
}

function circumstances(context) {
  return {
    version: context.version,
    round: context.round,
    state: context.state ?? null,
    memo: context.memo ?? null,
    input: context.inputs,
  };
}

/** A reply as the file has it: raw values, but for what the binding shapes itself. */
export function replyOf(stage, tree) {
  const [[kind, value]] = [...tree.members];
  switch (kind) {
    case 'failed':
      return { failed: true };
    case 'state_used':
      return { stateUsed: true };
    case 'list':
      return { list: stage.parse(value) };
    case 'input':
      return { input: stage.parse(value) };
    default:
      return { [kind]: stage.raw(value) };
  }
}

/** What servers on any transport have in common: `at(step)` is the machine that a step is about. */
export class ServerSteps extends Stage {
  take(step) {
    const done = this.serve(step);
    this.driven();
    return done;
  }

  /** Whoever drives several machines takes what they say now. */
  driven() {}

  serve(step) {
    const { value, more } = step;
    switch (step.verb) {
      case 'invoke':
        return this.invoke(step);
      case 'cancelled': {
        const action = this.event();
        if (action.kind !== 'cancelled' || action.slot !== this.named(value).slot.id) throw new Error(show(action));
        return this.checkReason(step, action.reason);
      }
      case 'notified': {
        const action = this.eventOn(step);
        if (action.kind !== 'notified' || action.method !== value.members.get('method').value) {
          throw new Error(show(action));
        }
        const params = value.members.get('params');
        if (params !== undefined) this.kept.compare(params.text, this.mcp.stringifyJson(action.params));
        return undefined;
      }
      case 'answered':
        return this.answered(step);
      case 'reply':
        return this.reply(this.named(more.get('to')), value);
      case 'abandon': {
        const { machine, slot } = this.named(value);
        return machine.abandon(slot, this.now);
      }
      case 'report': {
        const { machine, slot } = this.named(more.get('of'));
        return this.checkSent(step, machine.progress(slot, this.parse(value), this.now));
      }
      case 'log': {
        const of = more.get('of');
        const { machine, slot } = of === undefined ? { machine: this.at(step) } : this.named(of);
        const { level, logger, data } = this.parse(value);
        return this.checkSent(step, machine.log({ level, logger, data }, slot, this.now));
      }
      case 'notify': {
        const params = value.members.get('params');
        const method = value.members.get('method').value;
        return this.at(step).notify(method, params && this.raw(params), undefined, this.now);
      }
      case 'publish':
        return this.publish(step);
      case 'request': {
        const of = more.get('of');
        const { machine, slot } = of === undefined ? { machine: this.at(step) } : this.named(of);
        const params = value.members.get('params');
        const timeout = more.get('timeout_ms');
        const method = value.members.get('method').value;
        const call = this.refused(step, () =>
          machine.request(method, params && this.raw(params), slot, timeout && Number(timeout.value), this.now),
        );
        return this.names.set(more.get('as')?.value ?? '', { machine, call });
      }
      case 'cancel_request': {
        const { machine, call } = this.named(value);
        return machine.cancelRequest(call, more.get('reason')?.value, this.now);
      }
      default:
        throw new Error('no step of a server');
    }
  }

  invoke(step) {
    const action = this.eventOn(step);
    if (action.kind !== 'invoke') throw new Error(`instead of an invocation: ${show(action)}`);
    const described = describe(this.mcp, action);
    for (const [name, value] of step.value.members) {
      const got = described[name];
      if (got === undefined) throw new Error(`the invocation has no ${name}`);
      this.kept.compare(value.text, got);
      if (name === 'arguments') this.kept.compare(value.text, described.parsed);
    }
    const held = { machine: this.speaker(), slot: action.slot };
    this.keep(step, held);
    const answer = step.more.get('reply');
    if (answer !== undefined) this.reply(held, answer);
  }

  reply({ machine, slot }, tree) {
    machine.reply(slot, replyOf(this, tree), this.now);
  }

  answered(step) {
    const action = this.event();
    const { call } = this.named(step.value);
    if (action.kind !== 'answered' || action.call !== call) throw new Error(show(action));
    const [result, error, failure] = ['result', 'error', 'failure'].map((name) => step.more.get(name));
    if (result !== undefined) this.kept.compare(result.text, this.mcp.stringifyJson(action.result));
    else if (error !== undefined) {
      const { code, message, data } = action.error;
      if (action.error.blame !== 'remote') throw new Error(`blames ${action.error.blame}`);
      const text = message.replace(/^the peer answered: /, '').replace(/ \(-?\d+\)$/, '');
      this.kept.compare(error.text, this.mcp.stringifyJson({ code, message: text, data }));
    } else if (action.failure !== failure.value) throw new Error(show(action));
  }
}

/** A server of a stream. */
export class ServerStage extends ServerSteps {
  open(version, capabilities) {
    this.say(HANDSHAKE(version, capabilities));
    const answer = this.event();
    if (!answer.text?.includes(version)) throw new Error(`the session was not opened: ${show(answer)}`);
    this.say(INITIALIZED);
    this.event();
  }

  at() {
    return this.machine;
  }

  speaker() {
    return this.machine;
  }

  eventOn() {
    return this.event();
  }

  publish(step) {
    this.checkSent(step, this.machine.publish(this.parse(step.value), this.now));
  }
}
