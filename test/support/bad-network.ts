import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as forward,
  type ServerResponse,
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { listenOnLoopback } from './loopback.ts'
import { shuffled } from './random.ts'

/**
 * What is done to a request. `unsent`: the connection breaks before the server has it; `broken`: in the middle of the answer;
 * `cut-off`: the answer ends too early, in order; `lost`: the server has done it, and its answer never arrives; `late`: the
 * answer comes when nobody waits for it any more; `twice`: whoever stands between asks again, and passes on the second
 * answer; `held`: the connection breaks, and the server gets the request seconds later, after what was asked again and whatever
 * came of that; `slow`: everything comes a few bytes at a time.
 */
export const faults = ['unsent', 'broken', 'cut-off', 'lost', 'late', 'twice', 'held', 'slow'] as const
export type Fault = (typeof faults)[number]

/** What became of a request; of one that is held or met silence, `arrived` as well. */
export type Fate = Fault | 'refused' | 'passed' | 'silent' | 'arrived'

export interface Refusal {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  readonly body: string
}

export interface BadNetworkOptions {
  readonly random: () => number
  /** The client waits no longer for an answer. */
  readonly lateMs: number
}

/** A proxy between clients and a server on loopback that is bad in ways that networks are; gone with the scope. */
export interface BadNetwork extends AsyncDisposable {
  /** `host:port` */
  readonly endpoint: string
  /** How often there was each so far. */
  readonly counts: ReadonlyMap<Fate, number>
  /** @param share of all requests from now on, how many have a fault; none at first */
  worsen(share: number): void
  /** The next request whose method and path match has this fault, at whatever server it is. */
  meet(pattern: RegExp, fault: Fault): void
  /** From now on all requests are answered so; undefined: no longer. */
  refuse(how: Refusal | undefined): void
  /**
   * From now on requests whose method and path match are taken and not answered, at whatever server they are; the servers get
   * them when the silence is over.
   */
  fallSilent(pattern: RegExp): void
  /** Resolves when the servers have answered all that met silence. */
  speak(): Promise<void>
  /** No connection stays or is made. */
  cut(): void
  mend(): void
  /** Does something with the request that follows so many more: in the middle of what asks, however fast it is. */
  after(requests: number, act: () => void): void
}

/** Pieces of what is slow, and what is between two of them: no answer takes more than two seconds. */
const slowPieces = 20
const slowMs = 10
/** What is held arrives so late: a client has tried it again and gone on by then. */
const heldMs = 2_500
/** Of an answer that breaks off only its beginning comes. */
const shownShare = 0.5

/** What a network has in common with the servers behind it that clients are sent on to. */
class Weather {
  readonly counts = new Map<Fate, number>()
  meeting: { readonly pattern: RegExp; readonly fault: Fault } | undefined
  silence: { readonly pattern: RegExp; readonly over: PromiseWithResolvers<void> } | undefined
  readonly unanswered = new Set<Promise<unknown>>()
}

/** @param endpoint `host:port` of the server */
export async function startBadNetwork(
  endpoint: string,
  options: BadNetworkOptions,
  weather = new Weather(),
): Promise<BadNetwork> {
  const { random, lateMs } = options
  const { counts } = weather
  let share = 0
  /** All of them come, however few requests there are. */
  let deck: Fault[] = []
  const nextFault = (): Fault => {
    if (deck.length === 0) deck = shuffled(random, faults)
    return deck.pop()!
  }
  /** Servers that clients are sent on to are behind it as well. */
  const relays = new Map<string, Promise<BadNetwork>>()
  const relayTo = async (other: string) => {
    const relay = relays.get(other) ?? startBadNetwork(other, options, weather)
    relays.set(other, relay)
    const its = await relay
    its.worsen(share)
    return its.endpoint
  }
  const count = (what: Fate) => counts.set(what, (counts.get(what) ?? 0) + 1)
  const takeMeeting = (line: string) => {
    const { meeting } = weather
    if (meeting === undefined || !meeting.pattern.test(line)) return undefined
    weather.meeting = undefined
    return meeting.fault
  }
  let refusal: Refusal | undefined
  let isCut = false
  let planned: { requestsLeft: number; act: () => void } | undefined
  const followPlan = () => {
    if (planned === undefined || planned.requestsLeft-- > 0) return
    const { act } = planned
    planned = undefined
    act()
  }
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    if (refusal !== undefined) {
      count('refused')
      await buffer(request)
      response.writeHead(refusal.status, refusal.headers).end(refusal.body)
      return
    }
    const met = takeMeeting(`${request.method} ${request.url}`)
    const { silence } = weather
    if (silence?.pattern.test(`${request.method} ${request.url}`) === true) {
      count('silent')
      const body = await buffer(request)
      const late = silence.over.promise.then(() => ask(endpoint, request, body)).catch(() => undefined)
      weather.unanswered.add(late)
      await late
      weather.unanswered.delete(late)
      count('arrived')
      response.destroy()
      return
    }
    const fault = met ?? (random() < share ? nextFault() : undefined)
    count(fault ?? 'passed')
    if (fault === 'unsent') {
      // Some of it was sent.
      request.once('data', () => request.socket.destroy()).once('end', () => request.socket.destroy())
      return
    }
    const body = await buffer(request)
    if (fault === 'held') {
      request.socket.destroy()
      await delay(heldMs)
      // It may be refused, or its place be gone: nobody is there to hear of it.
      if (!isCut) await ask(endpoint, request, body).catch(() => undefined)
      count('arrived')
      return
    }
    if (fault === 'twice') await ask(endpoint, request, body)
    const { status, headers, body: answer } = await ask(endpoint, request, body)
    const [, other] = /^http:\/\/([^/]+)\//.exec(status === 307 ? (headers.location ?? '') : '') ?? []
    if (other !== undefined) headers.location = headers.location!.replace(other, await relayTo(other))
    if (fault === 'late') await delay(lateMs)
    const shown = Math.floor(answer.length * shownShare)
    switch (fault) {
      case 'lost':
        response.destroy()
        return
      case 'broken':
      case 'cut-off': {
        const end = () => (fault === 'broken' ? response.destroy() : response.socket?.end())
        response.writeHead(status, headers).flushHeaders()
        if (shown === 0) end()
        else response.write(answer.subarray(0, shown), end)
        return
      }
      case 'slow': {
        response.writeHead(status, headers)
        const pieceBytes = Math.ceil(answer.length / slowPieces)
        for (let offset = 0; offset < answer.length; offset += pieceBytes) {
          response.write(answer.subarray(offset, offset + pieceBytes))
          await delay(slowMs)
        }
        response.end()
        return
      }
      default:
        response.writeHead(status, headers).end(answer)
    }
  }
  const server = createServer((request, response) => {
    followPlan()
    pass(request, response).catch(() => response.destroy())
  })
  const sockets = new Set<{ destroy(): unknown }>()
  server.on('connection', (socket) => {
    if (isCut) socket.destroy()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const listening = await listenOnLoopback(server)
  return {
    endpoint: `127.0.0.1:${listening.port}`,
    counts,
    worsen: (more) => (share = more),
    meet: (pattern, fault) => (weather.meeting = { pattern, fault }),
    refuse: (how) => (refusal = how),
    fallSilent: (pattern) => {
      const { over = Promise.withResolvers<void>() } = weather.silence ?? {}
      weather.silence = { pattern, over }
    },
    speak: async () => {
      weather.silence?.over.resolve()
      weather.silence = undefined
      await Promise.all(weather.unanswered)
    },
    cut: () => {
      isCut = true
      for (const socket of sockets) socket.destroy()
      for (const relay of relays.values()) void relay.then((one) => one.cut())
    },
    mend: () => {
      isCut = false
      for (const relay of relays.values()) void relay.then((one) => one.mend())
    },
    after: (requests, act) => (planned = { requestsLeft: requests, act }),
    [Symbol.asyncDispose]: async () => {
      for (const relay of relays.values()) await (await relay)[Symbol.asyncDispose]()
      await listening[Symbol.asyncDispose]()
    },
  }
}

/** As it came: the signature is over what it says. */
async function ask(endpoint: string, request: IncomingMessage, body: Buffer) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const [host, port] = endpoint.split(':')
  const { method, url, rawHeaders } = request
  forward({ host, port, method, path: url, headers: rawHeaders, agent: false }, resolve)
    .once('error', reject)
    .end(body)
  const answer = await promise
  const { connection: _, 'transfer-encoding': _encoding, ...headers } = answer.headers
  const bytes = await buffer(answer)
  // Whoever cuts it off says how long it was to be; a HEAD says so of what it has not.
  const length = method === 'HEAD' ? {} : { 'content-length': bytes.length }
  return { status: answer.statusCode ?? 0, headers: { ...headers, ...length }, body: bytes }
}
