import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from './platform.ts'
import { whyMissing } from './provide.ts'
import { until } from './until.ts'

/** Why moto is not here; undefined where it is. */
export const noMoto = (): string | undefined => whyMissing('PYTHON_FOR_MOTO')

/** moto's server, with Amazon's services as far as moto knows them, on loopback; gone with the scope. */
export interface Moto extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40000`. */
  readonly endpoint: string
}

export async function startMoto(): Promise<Moto> {
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const options = ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)]
  const child = spawn(process.env['PYTHON_FOR_MOTO']!, options, { stdio: 'ignore' })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  await until('moto answers', () =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  )
  return {
    endpoint,
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      const gone = once(child, 'exit')
      kill()
      await gone
    },
  }
}
