/**
 * The Model Context Protocol as pure state machines: frames go in, actions come out. No socket, clock, thread or timer
 * is inside; bring your own.
 *
 * @packageDocumentation
 */

export * from './actions';
export * from './client';
export { Definition, DefinitionBuilder, type CacheHints, type SchemaLimits } from './definition';
export {
  CallError,
  InvalidFrameError,
  LimitError,
  McpError,
  MisuseError,
  PeerIncompatibleError,
  PeerMisbehavedError,
  RemoteError,
  type Blame,
  type CallErrorKind,
  type ExchangeErrorKind,
} from './errors';
export * from './http-server';
export { parseJson, RawJson, stringifyJson, type JsonObject, type JsonValue } from './json';
export type * from './model';
export type { Clocks, Now, Timeout, TimerKind } from './native';
export * from './server';
