import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { asOrdinaryUser } from '../../support/ordinary-user.ts'
import type { Answer, Orders } from './ordinary-process.ts'

export const ordinaryScript = fileURLToPath(new URL('./ordinary-process.ts', import.meta.url))

/** A mover in a process of a user who is not root; `kill` ends it in whatever it does. */
export function startOrdinaryMover(): Orders & AsyncDisposable & { kill(): Promise<void> } {
  const child = fork(ordinaryScript, [], {
    cwd: '/',
    execArgv: [],
    serialization: 'advanced',
    ...asOrdinaryUser,
  })
  const exited = once(child, 'exit')
  const order =
    <K extends keyof Orders>(name: K) =>
    async (...given: Parameters<Orders[K]>): Promise<Awaited<ReturnType<Orders[K]>>> => {
      child.send({ name, given })
      const ended = exited.then(() => [{ error: 'the process has ended' }])
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the process answers
      const [answer] = (await Promise.race([once(child, 'message'), ended])) as [Answer]
      if ('error' in answer) throw new Error(answer.error)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is that of the order
      return answer.result as Awaited<ReturnType<Orders[K]>>
    }
  return {
    run: order('run'),
    reconcile: order('reconcile'),
    transferAgain: order('transferAgain'),
    compare: order('compare'),
    match: order('match'),
    clean: order('clean'),
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
    [Symbol.asyncDispose]: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
