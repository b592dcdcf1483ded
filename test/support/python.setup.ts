import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../../broker/nats-server.ts'
import { runProgram } from '../../broker/run-program.ts'

const requirements = ['nats-py==2.16.0', 'opentelemetry-proto==1.45.2']
const modules = 'nats, opentelemetry.proto.collector.trace.v1.trace_service_pb2'
const probeTimeoutMs = 20_000
const installTimeoutMs = 3 * 60_000

/**
 * Gets nats-py and the schema of OpenTelemetry from PyPI into a virtual environment in the cache folder. Tests find its
 * Python in `PYTHON_FOR_PEERS`, or why it cannot run here in `PYTHON_MISSING`.
 */
export async function setup(): Promise<void> {
  try {
    process.env['PYTHON_FOR_PEERS'] = await environment()
  } catch (error) {
    process.env['PYTHON_MISSING'] = (error as Error).message
  }
}

async function environment(): Promise<string> {
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
