/** The native part, and how its actions are read. Nothing here is for users. */

import { createRequire } from 'node:module';
import { join } from 'node:path';

import { translated } from './errors';

/** @internal */
export interface NativeServer {
  place(): number;
  written(bytes: number, exchange: number, mono: number, unix: number): void;
  handleTimeout(mono: number, unix: number): void;
  pollTimeout(numbers: Float64Array): string | null;
  wantsInput(): boolean;
  isClosed(): boolean;
  abandon(low: number, high: number, mono: number, unix: number): void;
  context(low: number, high: number): string;
  act(verb: string, mono: number, unix: number): string | null;
  replaceDefinition(definition: NativeDefinition, mono: number, unix: number): void;
}

/** @internal */
export interface NativeClient {
  handleBytes(bytes: Uint8Array, fetch: number, mono: number, unix: number): void;
  handleText(text: string, fetch: number, mono: number, unix: number): void;
  written(bytes: number, mono: number, unix: number): void;
  handleTimeout(mono: number, unix: number): void;
  poll(numbers: Float64Array): string | null;
  pollTimeout(numbers: Float64Array): string | null;
  wantsInput(): boolean;
  act(verb: string, mono: number, unix: number): string | null;
}

/** @internal */
export interface NativeDefinition {
  readonly nativeDefinition: never;
}

/** @internal */
export interface NativeService {
  readonly nativeService: never;
}

/** @internal */
export interface NativeRequest {
  way(): number;
  push(bytes: Uint8Array): void;
  finish(seed: Uint8Array, mono: number, unix: number): void;
  refuse(isBroken: boolean): void;
  response(numbers: Float64Array): string | null;
  exchange(): NativeServer | null;
  accept(session: NativeServer, mono: number, unix: number): number;
}

/** @internal */
export interface NativeEndpoint {
  seed(): Uint8Array;
  admit(request: NativeRequest, mono: number, unix: number): number;
  opened(): NativeServer | null;
  import(exported: Uint8Array, mono: number, unix: number): number;
  export(session: NativeServer): Uint8Array | null;
  exchangeEnded(session: number, mono: number, unix: number): void;
  remove(session: number): void;
  listen(machine: NativeServer, number: number, mono: number, unix: number): boolean;
  unlisten(machine: NativeServer): void;
  listeners(changed: string, uri: string | null): number[];
  replaceService(service: NativeService): string[];
  handleTimeout(mono: number, unix: number): void;
  pollExpired(): number | null;
  pollTimeout(numbers: Float64Array): string | null;
}

/** What every call needs of a server's machine: functions, whose numbers are in memory, for the sake of speed. */
interface Verbs {
  read_text(text: string): string | null;
  read_bytes(bytes: Uint8Array): string | null;
  reply(value: string | null): string | null;
  poll(): string | null;
}

interface Native {
  verbs: (numbers: Float64Array) => Verbs;
  Definition: new (settings: string) => NativeDefinition;
  ServerMachine: new (definition: NativeDefinition, seed: Uint8Array) => NativeServer;
  ClientMachine: new (settings: string, place: string | null) => NativeClient;
  HttpService: new (
    definition: NativeDefinition,
    settings: string,
    hosts: ((host: string) => boolean) | null,
    origins: ((origin: string) => boolean) | null,
    owner: ((session: string, ...claim: (string | undefined)[]) => boolean) | null,
  ) => NativeService;
  HttpRequest: new (
    service: NativeService,
    method: string,
    target: string,
    authority: string | null,
    headers: string,
    principal: string | null,
  ) => NativeRequest;
  HttpEndpoint: new (service: NativeService, seed: Uint8Array) => NativeEndpoint;
}

const FILE = `mcp-sansio.${process.platform}-${process.arch}.node`;

function load(): Native {
  try {
    return createRequire(__filename)(join(__dirname, FILE)) as Native;
  } catch (error) {
    throw new Error(`mcp-sansio has no native part that works here (${FILE})`, { cause: error });
  }
}

/** @internal */
export const native: Native = load();

/** Does something in the native part; what it throws becomes an error of this package. @internal */
export function guarded<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw translated(error);
  }
}

/** Both clocks. See `Now`. */
export interface Clocks {
  /** Monotonic milliseconds. */
  readonly mono: number;
  /** Milliseconds since 1970. */
  readonly unix: number;
}

/**
 * The time. A number is monotonic milliseconds since any fixed moment (fractions count), and the wall clock is the
 * platform's; an object gives both, the wall clock in milliseconds since 1970. Left out, it is `performance.now()` and
 * `Date.now()`. One machine is always given times of one clock.
 */
export type Now = number | Clocks;

/** @internal */
export function mono(now: Now | undefined): number {
  if (now === undefined) return performance.now();
  return typeof now === 'number' ? now : now.mono;
}

/** @internal */
export function unix(now: Now | undefined): number {
  return typeof now === 'object' ? now.unix : Date.now();
}

/** A seed: 32 bytes that nobody else has, from the platform unless given. A given one is for tests. @internal */
export function seedOf(seed: Uint8Array | undefined): Uint8Array {
  return seed ?? crypto.getRandomValues(new Uint8Array(32));
}

/**
 * What an action is read from, and a verb's numbers are written to. One is enough: nothing runs between the writing and
 * the reading. Nobody else may get hold of it, for the native part relies on its being there.
 * @internal
 */
export const numbers = new Float64Array(32);
/** Where it says whether an action of a server is the last one for now. @internal */
export const LAST = 31;
/** @internal */
export const verbs: Verbs = native.verbs(numbers);
let text = '';
let at = 0;
let from = 0;

const clock = performance;
let wall = 0;
let wallAt = -Infinity;

/** Writes the time down for a verb, and gives the monotonic one. @internal */
export function times(now: Now | undefined): number {
  if (now !== undefined) {
    numbers[2] = unix(now);
    return (numbers[1] = mono(now));
  }
  const at = clock.now();
  // The wall clock tells milliseconds, and need not be read more often.
  if (at - wallAt >= 1) {
    wall = Date.now();
    wallAt = at;
  }
  numbers[2] = wall;
  return (numbers[1] = at);
}

/** Begins to read an action, and gives its kind. @internal */
export function begin(packed: string): number {
  text = packed;
  from = 0;
  at = 1;
  return numbers[0] as number;
}

/** As {@link begin}, where there is no kind. @internal */
export function beginPlain(packed: string): void {
  begin(packed);
  at = 0;
}

/** @internal */
export function number(): number {
  return numbers[at++] as number;
}

/** @internal */
export function string(): string {
  const to = numbers[at++] as number;
  const part = text.slice(from, to);
  from = to;
  return part;
}

/** @internal */
export function optional(): string | undefined {
  if (numbers[at] === -1) {
    at++;
    return undefined;
  }
  return string();
}

/** @internal */
export function index(): number | undefined {
  const value = number();
  return value < 0 ? undefined : value;
}

/** Why a machine wants to be woken. */
export type TimerKind =
  | 'actions'
  | 'call_idle'
  | 'call_hard'
  | 'probe'
  | 'backoff'
  | 'invocation'
  | 'drain'
  | 'stream'
  | 'keep_alive'
  | 'idle';

/** When to wake a machine, and why. */
export interface Timeout {
  /** Monotonic milliseconds, by the clock that the machine is given. */
  readonly at: number;
  /** What it waits for. `actions` is: drain `poll()` first. */
  readonly kind: TimerKind;
}

/** @internal */
export function timeoutOf(kind: string | null): Timeout | undefined {
  return kind === null ? undefined : Object.freeze({ at: numbers[0] as number, kind: kind as TimerKind });
}
