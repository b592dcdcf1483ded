import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../../broker/nats-server.ts'
import { runProgram } from '../../broker/run-program.ts'

const requirement = 'nats-py==2.16.0'
const probeTimeoutMs = 20_000
const installTimeoutMs = 3 * 60_000

/**
 * Gets nats-py from PyPI into a virtual environment in the cache folder. Tests find its Python in `PYTHON_WITH_NATS`, or
 * why it cannot run here in `PYTHON_MISSING`.
 */
export async function setup(): Promise<void> {
  try {
    process.env['PYTHON_WITH_NATS'] = await environment()
  } catch (error) {
    process.env['PYTHON_MISSING'] = (error as Error).message
  }
}

async function environment(): Promise<string> {
  const folder = join(cacheFolder(process.env), 'peers', requirement)
  const python = join(folder, 'bin', 'python')
  const isInstalled = () =>
    runProgram(python, ['-c', 'import nats'], { timeoutMs: probeTimeoutMs }).then(
      () => true,
      () => false,
    )
  if (existsSync(python) && (await isInstalled())) return python
  await runProgram('python3', ['-m', 'venv', '--clear', folder], { timeoutMs: installTimeoutMs }).catch(
    (cause: unknown) => {
      throw new Error('there is no python3 with venv: install python3 and python3-venv', { cause })
    },
  )
  await runProgram(python, ['-m', 'pip', 'install', '-q', requirement], {
    timeoutMs: installTimeoutMs,
  }).catch((cause: unknown) => {
    throw new Error(`pip could not get ${requirement}: ${(cause as Error).message}`, { cause })
  })
  return python
}
