import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../../broker/server/nats-server.ts'
import { runProgram } from '../../broker/server/run-program.ts'

interface Environment {
  /** Begins the names of the variables in which tests find its Python, or why there is none. */
  readonly name: string
  readonly requirements: readonly string[]
  readonly modules: string
}

const environments: readonly Environment[] = [
  {
    name: 'PYTHON',
    requirements: ['nats-py==2.16.0', 'opentelemetry-proto==1.45.2'],
    modules: 'nats, opentelemetry.proto.collector.trace.v1.trace_service_pb2',
  },
  { name: 'SCHEMATHESIS', requirements: ['schemathesis==4.32.5'], modules: 'schemathesis' },
]
const probeTimeoutMs = 20_000
const installTimeoutMs = 3 * 60_000

/**
 * Gets packages from PyPI into virtual environments in the cache folder. Tests find the Python of one in
 * `<name>_FOR_PEERS`, or why it cannot run here in `<name>_MISSING`.
 */
export async function setup(): Promise<void> {
  for (const environment of environments) {
    try {
      process.env[`${environment.name}_FOR_PEERS`] = await pythonOf(environment)
    } catch (error) {
      process.env[`${environment.name}_MISSING`] = (error as Error).message
    }
  }
}

async function pythonOf({ requirements, modules }: Environment): Promise<string> {
  const folder = join(cacheFolder(process.env), 'peers', requirements.join('+'))
  const python = join(folder, 'bin', 'python')
  const isInstalled = () =>
    runProgram(python, ['-c', `import ${modules}`], { timeoutMs: probeTimeoutMs }).then(
      () => true,
      () => false,
    )
  if (existsSync(python) && (await isInstalled())) return python
  await runProgram('python3', ['-m', 'venv', '--clear', folder], { timeoutMs: installTimeoutMs }).catch(
    (cause: unknown) => {
      throw new Error('there is no python3 with venv: install python3 and python3-venv', { cause })
    },
  )
  await runProgram(python, ['-m', 'pip', 'install', '-q', ...requirements], {
    timeoutMs: installTimeoutMs,
  }).catch((cause: unknown) => {
    throw new Error(`pip could not get ${requirements.join(' and ')}: ${(cause as Error).message}`, { cause })
  })
  return python
}
