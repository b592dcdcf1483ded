/**
 * Requests a second of a handler through `serve()` (who is calling, checks of input and output, counting) against a bare
 * echo in the same queue group on a subject of the same length, on the same connection of the same process, 64 in flight,
 * in turns.
 */
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { startChild } from './child.ts'
import { median, print } from './figures.ts'
import { bareSubject, echo } from './serve-contract.ts'

/** Many and short: what else the machine does comes and goes. */
const rounds = 31
const roundMs = 500
const inFlight = 64

/** Answers a second. */
async function load(connection: NatsConnection, subject: string): Promise<number> {
  const started = performance.now()
  let answers = 0
  const ask = async (): Promise<void> => {
    while (performance.now() - started < roundMs) {
      const reply = await connection.request(subject, '{"message":"pong"}')
      if (reply.string() !== '{"message":"pong"}') throw new Error(reply.string())
      answers += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, ask))
  return answers / ((performance.now() - started) / 1_000)
}

export async function benchServe(): Promise<void> {
  await using child = await startChild('serve-child.ts')
  const connection = await connect({ servers: child.line, noAsyncTraces: true })
  await load(connection, bareSubject)
  await load(connection, echo.subject)
  const figures: { bare: number; served: number }[] = []
  for (let round = 0; round < rounds; round++)
    figures.push({ bare: await load(connection, bareSubject), served: await load(connection, echo.subject) })
  await connection.close()
  const perSecond = (values: number[]) => `${Math.round(median(values)).toLocaleString('en')}/s`
  print('Handlers', [
    {
      name: `a handler through serve() ÷ a bare echo, ${inFlight} in transfer`,
      value: median(figures.map(({ bare, served }) => served / bare)).toFixed(2),
      aim: '≥ 0.9',
      details: `${perSecond(figures.map(({ served }) => served))} and ${perSecond(figures.map(({ bare }) => bare))}`,
    },
  ])
}

if (import.meta.main) await benchServe()
