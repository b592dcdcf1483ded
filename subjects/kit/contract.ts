import type { Static, TObject, TSchema } from 'typebox'
import type { CommonCode, ErrorCode, GantryError } from './errors.ts'
import { agentSubject, eventSubject, ephemeralSubject, roots, serviceSubject } from './names.ts'

/** How a contract appears over HTTP, on the server of the platform; others translate (`http-edge/surface`). The input is `{...path, ...query, ...body, ...bind, ...bearer}`. */
export interface HttpRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with `{field}` segments; each names a field of the input. */
  readonly path: string
  /** Fields taken from the query string. Default: all that are not in the path for GET and DELETE, none for the others. */
  readonly query?: readonly string[] | 'all'
  /** Fields with a fixed value on this route; a caller cannot set them. */
  readonly bind?: Readonly<Record<string, string | boolean | number>>
  /** Fields that mean nothing beside what the route binds: they cannot be given on it. */
  readonly omit?: readonly string[]
  /** Status of success; default 200. */
  readonly status?: 200 | 201
  /**
   * Answered without a token, on the edge's own narrow key; `credentials` when the input itself shows who somebody is, so
   * that it may be refused as UNAUTHENTICATED.
   */
  readonly public?: true | 'credentials'
  /** Field that comes from `Authorization: Bearer …`, on a public route: a credential of somebody else's making. */
  readonly bearer?: string
}

/** How a contract appears on the command line. Default: `gantry <resource> <verb>`. */
export interface CliShape {
  /** The verb there, where that of the subject is not in kebab case. */
  readonly verb?: string
  /** Fields given by position, in order; the rest are flags. */
  readonly args?: readonly string[]
  /** Optional fields whose default is always refused: the command line requires them. */
  readonly needed?: readonly string[]
  /** Fields that other programs must not see in the list of processes: they can be read from a file or standard input. */
  readonly secrets?: readonly string[]
  /** Lists of paths that may be the lines of a file, byte for byte. */
  readonly files?: readonly string[]
  /** One example, as typed. */
  readonly example?: string
  /** Columns of the table for people; default: the fields of the output's items. */
  readonly columns?: readonly string[]
  /** What people do next, with `{field}` for fields of the reply: the first of these whose `when` the reply meets. */
  readonly next?: readonly {
    readonly command: string
    readonly when?:
      { readonly field: string; readonly is: string } | { readonly field: string; readonly isNot: number }
  }[]
  /** The reply is values over time: people are shown lines of them beside the table. */
  readonly chart?: true
  /** The reply is not the last word while one of its fields has a value: asked again, with another of its fields, until it has not. */
  readonly again?: {
    readonly field: string
    readonly while: { readonly field: string; readonly is: string }
  }
  /**
   * What was asked for goes on after the reply: with `--wait` the command follows it with this verb, which takes its id by
   * this field. Of a job it fails where one of the fields of what came of it is not zero; what has a state, or each of a list
   * of such, is followed while it is in it.
   */
  readonly waits?: { readonly verb: string; readonly by: string } & (
    { readonly zero: readonly string[] } | { readonly while: { readonly field: string; readonly is: string } }
  )
  /**
   * Done to the very key that asks, it may lock its owner out: the command asks for confirmation then. `key` is the field
   * with the id of the key; where `with` is given, it does so only if that field is.
   */
  readonly confirmOwn?: { readonly key: string; readonly with?: string }
  /** It takes away more than one object of Gantry, or files: what that is, with `{field}` for fields of the input. The command asks for confirmation. */
  readonly confirms?: string
  /** The reply says that something is wrong when one of its fields has this value: the exit code is that of a failure. */
  readonly failed?: { readonly field: string; readonly is: boolean | string }
}

/** What the audit log says of a call that changes something. */
export interface AuditShape {
  /** Field that names the object, of the input or, where that has none, of the output. Default: there is one object only. */
  readonly object?: string
  /** Fields of the input whose values are recorded: what was set, and to what. Never secrets. */
  readonly details?: readonly string[]
  /** Field of the input with the path that it is about, where the object is a store. */
  readonly path?: string
  /** Field of the output, and of the details of an error, with the number of files and folders that are gone. */
  readonly removed?: string
}

/** A text that comes in parts. */
export interface DownloadShape {
  /** Media types that it can have. */
  readonly types: readonly string[]
  /** Field that may have a name in place of an id: by a name, the first part says in `of` by which id the others are asked for. */
  readonly by?: string
}

/** A capability, as plain data: it serialises to JSON and back, and runs in a browser. */
export interface Contract<
  I extends TSchema = TSchema,
  O extends TSchema = TSchema,
  E extends ErrorCode = ErrorCode,
> {
  readonly resource: string
  readonly verb: string
  readonly subject: string
  readonly summary: string
  readonly description?: string
  readonly input: I
  readonly output: O
  /** Codes beside `commonCodes` that the handler may answer. */
  readonly errors: readonly E[]
  readonly http: readonly HttpRoute[]
  readonly cli?: CliShape
  /** There when the capability changes something: its calls are in the audit log, whatever came of them. */
  readonly audit?: AuditShape
  /**
   * What it changes says who may do what, what goes where or who is warned, whatever becomes of the token that asks. A
   * token that a rotation has replaced may not call it, though its key may: else whoever found the old one in the time in
   * which both are taken could make rights that stay, or lock the owner out.
   */
  readonly lasting?: true
  /**
   * There when the output is a `Part` of a text and the input has `from`: over HTTP and on the command line, which do not
   * show that field, comes the whole.
   */
  readonly download?: DownloadShape
  /** Milliseconds until the caller gives up; default `defaultDeadlineMs`. */
  readonly deadlineMs?: number
  /** Without route and command: what counts is the connection on which it is asked. */
  readonly brokerOnly?: true
}

/** Where a contract is answered, and when, and what a refusal says of it: what a call needs beside its types. */
export type Addressed = Pick<Contract, 'subject' | 'resource' | 'summary' | 'deadlineMs' | 'lasting'>

/** The verb of a contract as it is typed. */
export const verbOf = ({ verb, cli }: Pick<Contract, 'verb' | 'cli'>): string => cli?.verb ?? verb

/** Long enough for any call that touches the platform alone; calls that reach a store state their own. */
export const defaultDeadlineMs = 5_000

/** A contract as its author writes it: the names are filled in by `resource`. */
export interface Definition {
  readonly summary: string
  readonly description?: string
  readonly input: TObject
  readonly output: TSchema
  readonly errors: readonly ErrorCode[]
  readonly http: readonly HttpRoute[]
  readonly cli?: CliShape
  readonly audit?: AuditShape
  readonly lasting?: true
  readonly download?: DownloadShape
  readonly deadlineMs?: number
  readonly brokerOnly?: true
}

type Named<D extends Definition> = Contract<D['input'], D['output'], D['errors'][number]>

/** Part of a resource's definitions, for a file of its own. */
export const definitions = <const D extends Record<string, Definition>>(part: D): D => part

/** All contracts of a resource, by verb. */
export type Resource = Readonly<Record<string, Contract>>

/** Declares the capabilities of a resource: `gantry.services.v1.<name>.<verb>` for each entry. */
export function resource<const D extends Record<string, Definition>>(
  name: string,
  definitions: D,
): { readonly [V in keyof D]: Named<D[V]> } {
  return named(definitions, name, (verb) => serviceSubject(name, verb))
}

/** Declares requests between the platform's own services; users cannot reach them and they have no route. */
export function internalResource<const D extends Record<string, Definition>>(
  name: string,
  definitions: D,
): { readonly [V in keyof D]: Named<D[V]> } {
  return named(definitions, name, (verb) => `${roots.internal}.${name}.${verb}`)
}

/** Declares requests of transfer agents to the platform; nobody else reaches them and they have no route. */
export function agentResource<const D extends Record<string, Definition>>(
  name: string,
  definitions: D,
): { readonly [V in keyof D]: Named<D[V]> } {
  return named(definitions, name, (verb) => agentSubject('*', verb))
}

/** The contract as the agent with this key asks it: the broker lets each agent publish under its own key id alone. */
export const asAgent = <C extends Contract>(contract: C, keyId: string): C => ({
  ...contract,
  subject: agentSubject(keyId, contract.verb),
})

function named<D extends Record<string, Definition>>(
  definitions: D,
  resource: string,
  subject: (verb: string) => string,
): { readonly [V in keyof D]: Named<D[V]> } {
  const entries = Object.entries(definitions).map(([verb, definition]) => [
    verb,
    { resource, verb, subject: subject(verb), ...definition },
  ])
  // Object.fromEntries forgets the keys; they are those of `definitions`, each with its names added.
  return Object.fromEntries(entries) as { readonly [V in keyof D]: Named<D[V]> }
}

/** A fact, published after the state change that it tells of, on `gantry.events.v1.<resource>.<event>.<id>`, an ephemeral one after `now`. */
export interface EventContract<P extends TSchema = TSchema> {
  readonly resource: string
  readonly event: string
  /** Subject with `{id}` for the object's id as a subject token. */
  readonly subject: string
  readonly summary: string
  /** Told to whoever listens at the moment, and not kept: the next one says all that this one did. */
  readonly ephemeral?: true
  readonly payload: P
}

/** Declares the events of a resource, by name in the past tense. */
export function events<
  const D extends Record<string, Pick<EventContract, 'summary' | 'ephemeral' | 'payload'>>,
>(resource: string, definitions: D): { readonly [E in keyof D]: EventContract<D[E]['payload']> } {
  const entries = Object.entries(definitions).map(([event, definition]) => {
    const subject = (definition.ephemeral ? ephemeralSubject : eventSubject)(resource, event, '{id}')
    return [event, { resource, event, subject, ...definition }]
  })
  return Object.fromEntries(entries) as { readonly [E in keyof D]: EventContract<D[E]['payload']> }
}

export type Input<C extends Contract> = Static<C['input']>
export type Output<C extends Contract> = Static<C['output']>
export type Code<C extends Contract> = C['errors'][number] | CommonCode
export type Payload<E extends EventContract> = Static<E['payload']>

/** Who is calling, as the broker says; nothing that the client says of itself is in it. */
export type Caller =
  | { readonly kind: 'key'; readonly keyId: string }
  /** Another service of the platform, inside the PLATFORM account. */
  | { readonly kind: 'platform' }

/** A connection of a client to the broker; no other has all three in common with it. */
export interface ClientConnection {
  /** Name of the server. */
  readonly server: string
  /** Its number there; the server counts anew when it starts. */
  readonly id: number
  /** When it was made, as the server writes it. */
  readonly started: string
}

/** What a handler gets beside its input. */
export interface Call<C extends Contract> {
  readonly caller: Caller
  /** On which the request came, as the broker says; undefined for the platform itself. */
  readonly connection: ClientConnection | undefined
  readonly requestId: string
  /** Network address of an HTTP client, as our own edge says; undefined for everybody else. */
  readonly clientAddress: string | undefined
  /** Aborts when the caller's deadline has passed. */
  readonly signal: AbortSignal
  /** Has something done once the broker has the reply: what would take the caller's connection from it. */
  afterReply(task: () => Promise<void>): void
  /** Tells what fields of the input were before, for the audit log. */
  replaces(before: Readonly<Record<string, unknown>>): void
  /** Makes the error to throw; a code that the contract does not declare does not compile. */
  fail<E extends Code<C>>(code: E, message: string, details?: unknown): GantryError<E>
}

export type Handler<C extends Contract> = (input: Input<C>, call: Call<C>) => Promise<Output<C>> | Output<C>

/** One handler for each verb; a missing or superfluous one does not compile. */
export type Handlers<R extends Resource> = { readonly [V in keyof R]: Handler<R[V]> }
