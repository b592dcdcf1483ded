import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { loopback } from '../../subjects/kit/names.ts'
import { oneOf } from './random.ts'
import { freePort } from './platform.ts'

/** What becomes of an event on its way. */
export type Fate = 'sent' | 'twice' | 'late' | 'wrapped' | 'lost'

/** Longest delay of a late event: others pass it. */
const lateMs = 300

/** Plays the part of Amazon's between a bucket and a queue: takes a server's own events and puts them into the queue. */
export interface EventRelay extends AsyncDisposable {
  /** For the configuration of the server. */
  readonly url: string
  /** One of these is chosen for each event. */
  fates: readonly Fate[]
  /** Events that came. */
  readonly events: number
}

export async function startRelay(
  send: (body: string) => Promise<void>,
  random: () => number,
): Promise<EventRelay> {
  const port = await freePort()
  const timers = new Set<NodeJS.Timeout>()
  let events = 0
  const relay = async (body: string): Promise<void> => {
    events++
    const fate = oneOf(random, its.fates)
    if (fate === 'lost') return
    if (fate === 'late') {
      const timer = setTimeout(() => {
        timers.delete(timer)
        void send(body).catch(() => undefined)
      }, random() * lateMs)
      timers.add(timer)
      return
    }
    if (fate === 'twice') await send(body)
    await send(fate === 'wrapped' ? JSON.stringify({ Type: 'Notification', Message: body }) : body)
  }
  const answer = async (request: IncomingMessage) => {
    const body = await text(request)
    if (body !== '') await relay(body)
  }
  const server = createServer((request, response) => {
    answer(request).then(
      () => response.end(),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(port, loopback, resolve))
  const its = {
    url: `http://${loopback}:${port}/`,
    fates: ['sent'] as readonly Fate[],
    get events() {
      return events
    },
    [Symbol.asyncDispose]: async () => {
      for (const timer of timers) clearTimeout(timer)
      server.closeAllConnections()
      server.close()
    },
  }
  return its
}
