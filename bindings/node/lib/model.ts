/** The shapes of the specification that applications write and read. Members that are not named here may stand too. */

import type { JsonObject, JsonValue, RawJson } from './json';

/** Further members: they are kept, and go out as they are. */
export interface Open {
  readonly [member: string]: unknown;
}

/** A picture. */
export interface Icon extends Open {
  readonly src: string;
  readonly mimeType?: string | undefined;
  readonly sizes?: readonly string[] | undefined;
}

/** A tool. Schemas are JSON Schema (2020-12 unless `$schema` says otherwise): an object, raw JSON, or its UTF-8 bytes. */
export interface Tool extends Open {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** Of the arguments, which are checked before a handler sees them. Left out: any object. */
  readonly inputSchema?: object | RawJson | Uint8Array | undefined;
  /** Of `structuredContent`, which is checked before it goes out. */
  readonly outputSchema?: object | RawJson | Uint8Array | undefined;
  readonly annotations?: {
    readonly title?: string;
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
  readonly icons?: readonly Icon[] | undefined;
}

/** A prompt. */
export interface Prompt extends Open {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly arguments?: readonly { readonly name: string; readonly description?: string; readonly required?: boolean }[];
}

/** A resource. */
export interface Resource extends Open {
  readonly uri: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly size?: number | undefined;
}

/** A resource template (RFC 6570). */
export interface ResourceTemplate extends Open {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
}

/** A piece of content, by its `type`. Binary data is base64. */
export type Content =
  | ({ readonly type: 'text'; readonly text: string } & Open)
  | ({ readonly type: 'image'; readonly data: string; readonly mimeType: string } & Open)
  | ({ readonly type: 'audio'; readonly data: string; readonly mimeType: string } & Open)
  | ({ readonly type: 'resource_link'; readonly uri: string; readonly name: string } & Open)
  | ({ readonly type: 'resource'; readonly resource: ResourceContents } & Open);

/** The contents of a resource: text, or base64. */
export type ResourceContents =
  | ({ readonly uri: string; readonly mimeType?: string; readonly text: string } & Open)
  | ({ readonly uri: string; readonly mimeType?: string; readonly blob: string } & Open);

/** What a tool brings. */
export interface CallToolResult extends Open {
  readonly content?: readonly Content[] | undefined;
  readonly structuredContent?: unknown | undefined;
  readonly isError?: boolean | undefined;
}

/** What a prompt brings. */
export interface GetPromptResult extends Open {
  readonly description?: string | undefined;
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: Content }[];
}

/** What a resource brings. */
export interface ReadResourceResult extends Open {
  readonly contents: readonly ResourceContents[];
}

/** Values for an argument, at most 100. */
export interface Completion extends Open {
  readonly values: readonly string[];
  readonly total?: number | undefined;
  readonly hasMore?: boolean | undefined;
}

/** An error for a peer. */
export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown | undefined;
}

/** A question for the client: a method of the specification that asks, and its params. */
export interface InputRequest {
  readonly method: string;
  readonly params?: object | RawJson | undefined;
}

/** The name and version of a client or a server. */
export interface Implementation extends Open {
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
}

/** How severe a log message is, least severe first. */
export type LoggingLevel = 'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency';
/** A list of the catalogue. */
export type List = 'tools' | 'prompts' | 'resources' | 'templates';
/** A revision of the specification. */
export type Version = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28';

/** The bounds of a machine, by name. Times are milliseconds; `null` lifts those that can be lifted. */
export interface Limits {
  readonly frameBytes?: number | undefined;
  readonly jsonDepth?: number | undefined;
  readonly batchMessages?: number | undefined;
  readonly inFlight?: number | undefined;
  readonly calls?: number | undefined;
  readonly outputBytes?: number | undefined;
  readonly subscriptions?: number | undefined;
  readonly listenStreams?: number | undefined;
  readonly rounds?: number | undefined;
  readonly walkPages?: number | undefined;
  readonly walkItems?: number | undefined;
  readonly walkBytes?: number | undefined;
  readonly cacheEntries?: number | undefined;
  readonly requestStateBytes?: number | undefined;
  readonly requestStateTtlMs?: number | undefined;
  readonly inputRequests?: number | undefined;
  readonly resumeFloorMs?: number | undefined;
  readonly resumeBudgetMs?: number | undefined;
  readonly serverRequestMs?: number | undefined;
  readonly drainMs?: number | undefined;
  /** How long a handler may take. None by default. */
  readonly invocationMs?: number | null | undefined;
  readonly sessions?: number | null | undefined;
  readonly sessionIdleMs?: number | null | undefined;
  readonly listens?: number | null | undefined;
  readonly listensPerPrincipal?: number | null | undefined;
  readonly sessionStreams?: number | undefined;
}

/** `{frameBytes: 1}` as the native part reads it: `{frame_bytes: 1}`. @internal */
export function snake(object: object): Record<string, unknown> {
  const named = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    named.map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value as unknown]),
  );
}

export type { JsonObject, JsonValue };
