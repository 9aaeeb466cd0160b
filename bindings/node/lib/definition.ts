/** What a server offers. */

import { RawJson, stringifyJson } from './json';
import type { Icon, Limits, List, LoggingLevel, Prompt, Resource, ResourceTemplate, Tool, Version } from './model';
import { snake } from './model';
import { guarded, native, type NativeDefinition } from './native';

/** The native part of a definition, for machines. @internal */
export const natives = new WeakMap<Definition, NativeDefinition>();

/** What a server offers, checked and compiled: immutable, and shared by any number of machines. */
export class Definition {
  // Nothing else is a definition, whatever it looks like.
  readonly #compiled = true;

  /** @internal */
  constructor(settings: string) {
    natives.set(
      this,
      guarded(() => new native.Definition(settings)),
    );
    Object.freeze(this);
  }

  /** Starts a definition of a server with this name and version. */
  static builder(name: string, version: string): DefinitionBuilder {
    return new DefinitionBuilder(name, version);
  }
}

/** How long something may be cached, in milliseconds, and by whom. */
export interface CacheHints {
  readonly ttlMs?: number | undefined;
  readonly scope?: 'private' | 'public' | undefined;
}

/** The bounds of schemas and their evaluation. */
export interface SchemaLimits {
  readonly depth?: number | undefined;
  readonly subschemas?: number | undefined;
  readonly patternStates?: number | undefined;
  readonly steps?: number | undefined;
  readonly valueDepth?: number | undefined;
  readonly problems?: number | undefined;
}

/**
 * Builds a {@link Definition}. Every setting has a default; things are offered in the order in which they are added,
 * and an invocation names them by their index. Nothing is checked before {@link DefinitionBuilder.build}.
 */
export class DefinitionBuilder {
  readonly #settings: Record<string, unknown>;

  /** See {@link Definition.builder}. */
  constructor(name: string, version: string) {
    this.#settings = { name, version };
  }

  #set(name: string, value: unknown): this {
    this.#settings[name] = value;
    return this;
  }

  #add(name: string, value: unknown): this {
    const list = (this.#settings[name] ??= []) as unknown[];
    // What is added is added now: later changes of the object are not seen.
    list.push(new RawJson(stringifyJson(value)));
    return this;
  }

  #put(name: string, key: string, value: unknown): this {
    const map = (this.#settings[name] ??= {}) as Record<string, unknown>;
    map[key] = value;
    return this;
  }

  /** A display name. */
  title(title: string): this {
    return this.#set('title', title);
  }
  /** What the server is, in a sentence. */
  description(text: string): this {
    return this.#set('description', text);
  }
  /** Where to read about the server. */
  website(url: string): this {
    return this.#set('website', url);
  }
  /** A picture of the server; may be called more than once. */
  icon(icon: Icon): this {
    return this.#add('icons', icon);
  }
  /** How to use the server, for the model. */
  instructions(text: string): this {
    return this.#set('instructions', text);
  }
  /** Whether results say who the server is. On by default. */
  sendIdentity(on: boolean): this {
    return this.#set('send_identity', on);
  }

  /** Adds a tool. */
  tool(tool: Tool | RawJson): this {
    if (tool instanceof RawJson) return this.#add('tools', tool);
    const raw = (schema: unknown) => (schema instanceof Uint8Array ? new RawJson(schema) : schema);
    const { inputSchema = { type: 'object' }, outputSchema } = tool;
    return this.#add('tools', { ...tool, inputSchema: raw(inputSchema), outputSchema: raw(outputSchema) });
  }
  /** Adds a prompt. */
  prompt(prompt: Prompt | RawJson): this {
    return this.#add('prompts', prompt);
  }
  /** Adds a resource. */
  resource(resource: Resource | RawJson): this {
    return this.#add('resources', resource);
  }
  /** Adds a resource that is listed, and read through a template or the catch-all, if at all. */
  listOnlyResource(resource: Resource | RawJson): this {
    return this.#add('list_only_resources', resource);
  }
  /** Adds a resource template. URIs are tried against templates in the order in which they are added. */
  template(template: ResourceTemplate | RawJson): this {
    return this.#add('templates', template);
  }

  /** Sends every read to the target `any`, whatever the catalogue says. */
  readAny(): this {
    return this.#set('read_any', true);
  }
  /** Offers completion of arguments. */
  completions(): this {
    return this.#set('completions', true);
  }
  /** Offers log messages. */
  logging(): this {
    return this.#set('logging', true);
  }
  /** The level at which a legacy session logs before it has set one. Silence by default. */
  earlyLogLevel(level: LoggingLevel): this {
    return this.#set('early_log_level', level);
  }
  /** Offers updates of single resources. */
  subscriptions(): this {
    return this.#set('subscriptions', true);
  }
  /** Offers updates, and asks the application about each legacy subscription. */
  askSubscriptions(): this {
    return this.#set('ask_subscriptions', true);
  }
  /** Says that lists may change while the server runs. */
  listChanged(): this {
    return this.#set('list_changed', true);
  }
  /** Lets the application answer a list, for each request anew. */
  dynamic(list: List): this {
    return this.#add('dynamic', list);
  }
  /** A custom request, which comes as the call `raw`. */
  method(name: string): this {
    return this.#add('methods', name);
  }
  /** A custom notification, which comes as `notified`. */
  notification(name: string): this {
    return this.#add('notifications', name);
  }
  /** Hands a whole method of the protocol over, for a gateway: it comes as the call `raw`. */
  handOver(method: string): this {
    return this.#add('hand_over', method);
  }
  /** Hands every unknown request and notification over, for a gateway. */
  handOverUnknown(): this {
    return this.#set('hand_over_unknown', true);
  }

  /** Items in a page of a list, at least one. 50 by default. */
  pageSize(items: number): this {
    return this.#set('page_size', items);
  }
  /** How long a list may be cached, and by whom. Not at all by default, and `private`. */
  cache(list: List, hints: CacheHints): this {
    return this.#put('cache', list, snake(hints));
  }
  /** The same for reads that do not say it themselves. */
  cacheReads(hints: CacheHints): this {
    return this.#put('cache', 'read', snake(hints));
  }
  /** The same for what the server tells of itself. */
  cacheDiscover(hints: CacheHints): this {
    return this.#put('cache', 'discover', snake(hints));
  }
  /** The revisions offered. All by default. */
  versions(versions: readonly Version[]): this {
    return this.#set('versions', versions);
  }
  /**
   * Seals what a client carries between rounds of input: keys of 32 random bytes each, of which the first seals and
   * all open. Processes that share keys can open each other's states.
   */
  seal(...keys: Uint8Array[]): this {
    return this.#set(
      'seal',
      keys.map((key) => Array.from(key)),
    );
  }
  /** Who sealed states are meant for, such as the URL of this server. */
  audience(audience: string): this {
    return this.#set('audience', audience);
  }
  /** The bounds of the server's machines. */
  limits(limits: Limits): this {
    return this.#set('limits', snake(limits));
  }
  /** The bounds of schemas. */
  schemaLimits(limits: SchemaLimits): this {
    return this.#set('schema_limits', snake(limits));
  }
  /** Offers an extension with its settings, an object. */
  extension(id: string, settings: object | RawJson): this {
    return this.#put('extensions', id, settings);
  }
  /** Experimental capabilities, an object. */
  experimental(capabilities: object | RawJson): this {
    return this.#set('experimental', capabilities);
  }
  /** Whether structured results are checked against output schemas. On by default. */
  validateOutput(on: boolean): this {
    return this.#set('validate_output', on);
  }
  /** Whether questions of a handler become real requests to a legacy client. On by default; off, they fail. */
  legacyInput(on: boolean): this {
    return this.#set('legacy_input', on);
  }

  /**
   * Checks everything and writes out what never changes.
   *
   * Throws `MisuseError` for names that stand twice, schemas and templates that cannot be used, settings that cannot
   * hold.
   */
  build(): Definition {
    return new Definition(stringifyJson(this.#settings));
  }
}
