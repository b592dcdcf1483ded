import { readFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { runProgram } from '../../../broker/server/run-program.ts'
import { whyMissing } from '../../support/provide.ts'
import { testUnless } from '../../support/unless.ts'

const chart = join(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))), 'deploy/helm/gantry')
const folder = mkdtempSync(join(tmpdir(), 'gantry-helm-'))
afterAll(() => rmSync(folder, { recursive: true }))

const timeoutMs = 60_000
const why = whyMissing('HELM')
const helm = (...args: string[]): Promise<string> => runProgram(process.env['HELM']!, args, { timeoutMs })

/** The oldest that the chart allows, and the newest whose schemas are there. */
const kubernetes = ['1.25.0', '1.37.0']

/** What people set. */
const choices: Readonly<Record<string, object>> = {
  defaults: {},
  'everything set': {
    image: { repository: 'registry.example/gantry', tag: '1.2.3', pullPolicy: 'Always' },
    imagePullSecrets: [{ name: 'registry' }],
    persistence: { size: '100Gi', storageClass: 'fast', accessModes: ['ReadWriteOncePod'] },
    service: { type: 'LoadBalancer', annotations: { 'example/internal': 'true' }, ports: { platform: 9080 } },
    developmentSignIn: { enabled: false },
    config: { content: '{}' },
    ingress: {
      enabled: true,
      className: 'nginx',
      annotations: { 'example/timeout': '3600' },
      host: 'gantry.example',
      websocketHost: 'events.gantry.example',
      tls: [{ hosts: ['gantry.example', 'events.gantry.example'], secretName: 'gantry-tls' }],
    },
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    volumeMounts: [{ name: 'data', mountPath: '/srv/data', readOnly: true }],
    env: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/srv/ca.crt' }],
    serviceAccount: {
      annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/gantry' },
    },
    podAnnotations: { 'example/team': 'data' },
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'data', operator: 'Exists' }],
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
  },
  'an existing secret': {
    config: { existingSecret: 'own' },
    ingress: { enabled: true, host: 'gantry.example' },
  },
}

async function rendered(values: object, version: string): Promise<string> {
  const file = join(folder, 'values.json')
  writeFileSync(file, JSON.stringify(values))
  return helm('template', 'first', chart, '--kube-version', version, '--values', file)
}

testUnless(why, 'helm finds nothing to complain of, and refuses values that do not exist', async () => {
  expect(await helm('lint', '--strict', chart)).toContain('0 chart(s) failed')
  await expect(rendered({ replicas: 3 }, kubernetes[1]!)).rejects.toThrow(/replicas/)
})

testUnless(
  why,
  'gantry.config comes from a Secret; the hosts of the Ingress lead to their ports',
  async () => {
    const version = kubernetes[1]!
    const content = '{"oidc.issuer":"https://id.example"}'
    const own = await rendered({ config: { content } }, version)
    expect(own).toContain(`gantry.config: ${Buffer.from(content).toString('base64')}`)
    expect(own).toMatch(/secretName: first-gantry\n/)
    expect(own).toMatch(/checksum\/config: [0-9a-f]{64}\n/)
    const existing = await rendered({ config: { existingSecret: 'own' } }, version)
    expect(existing).toMatch(/secretName: own\n/)
    expect(existing).not.toContain('kind: Secret')
    expect(await rendered({}, version)).not.toMatch(/initContainers|kind: (?:Secret|Ingress)/)
    const hosts = { host: 'gantry.example', websocketHost: 'events.gantry.example' }
    const open = await rendered({ ingress: { enabled: true, ...hosts } }, version)
    const ports = [...open.matchAll(/- host: (\S+)[^]*?port: \{ name: (\w+) \}/g)].map(([, ...one]) => one)
    expect(ports).toEqual([
      [hosts.host, 'platform'],
      [hosts.websocketHost, 'websocket'],
    ])
    await expect(rendered({ ingress: { enabled: true } }, version)).rejects.toMatchObject({
      stderr: expect.stringContaining('ingress.host is required') as string,
    })
    const both = { config: { content, existingSecret: 'own' } }
    await expect(rendered(both, version)).rejects.toMatchObject({
      stderr: expect.stringContaining('exclude each other') as string,
    })
  },
)

interface KubernetesObject {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: Record<string, never>
}

testUnless(why, 'the pod is confined, and what listens is what the service and the probes name', async () => {
  const all = parseAllDocuments(await rendered({}, kubernetes[1]!)).map(
    (one) => one.toJS() as KubernetesObject,
  )
  const set = all.find(({ kind }) => kind === 'StatefulSet') as unknown as {
    spec: { template: { spec: { containers: [Container]; securityContext: object } } }
  }
  interface Container {
    env: { name: string; value: string }[]
    ports: { name: string; containerPort: number }[]
    securityContext: object
    readinessProbe: { httpGet: { port: string } }
  }
  const { containers, securityContext } = set.spec.template.spec
  expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  const [{ env, ports, readinessProbe, securityContext: own }] = containers
  expect(own).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false })
  const names = ports.map(({ name }) => name)
  expect(names).toContain(readinessProbe.httpGet.port)
  expect(env.map(({ value }) => Number(value))).toEqual(
    expect.arrayContaining(ports.map(({ containerPort }) => containerPort)),
  )
  const services = all.filter(({ kind }) => kind === 'Service') as unknown as {
    spec: { ports: { targetPort: string }[] }
  }[]
  expect(services).toHaveLength(2)
  for (const { spec } of services) expect(spec.ports.map(({ targetPort }) => targetPort)).toEqual(names)
})

describe('objects are what the schemas of Kubernetes say', () => {
  const missing = why ?? whyMissing('KUBECONFORM') ?? whyMissing('PYTHON_FOR_KUBERNETES')
  for (const version of kubernetes)
    for (const [name, values] of Object.entries(choices))
      testUnless(missing, `Kubernetes ${version}, ${name}`, async () => {
        const own = ['config' in values && 'content' in (values.config as object), 'ingress' in values]
        const valid = 4 + own.filter(Boolean).length
        expect(await judged(values, version)).toMatchObject({
          resources: [],
          summary: { valid, invalid: 0, errors: 0, skipped: 0 },
        })
      })

  testUnless(missing, 'and a field that none has is found', async () => {
    const values = { securityContext: { readOnlyRootFileSystem: true } }
    await expect(judged(values, kubernetes[1]!)).rejects.toMatchObject({ failure: 'failed' })
  })

  /** @throws ProgramError when there is anything to complain of */
  async function judged(values: object, version: string): Promise<unknown> {
    const text = await rendered(values, version)
    const schemas = await schemasFor(text, version)
    const manifest = join(folder, 'manifest.yaml')
    writeFileSync(manifest, text)
    const args = ['-strict', '-summary', '-output', 'json', '-kubernetes-version', version]
    const template = join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json')
    args.push('-schema-location', template, manifest)
    return JSON.parse(await runProgram(process.env['KUBECONFORM']!, args, { timeoutMs }))
  }
})

/**
 * A folder with the schemas of the kinds that are there. The package has what they share in a file of its own, which
 * kubeconform does not follow: it becomes a part of each.
 */
async function schemasFor(manifests: string, version: string): Promise<string> {
  const script = 'import kubernetes_validate as k, os; print(os.path.dirname(k.__file__))'
  const python = process.env['PYTHON_FOR_KUBERNETES']!
  const installed = (await runProgram(python, ['-c', script], { timeoutMs })).trim()
  const from = join(installed, 'kubernetes-json-schema', `v${version}-local-strict`)
  const shared = '_definitions.json'
  const { $defs } = JSON.parse(readFileSync(join(from, shared), 'utf8')) as { $defs: object }
  const folderOf = join(folder, version)
  mkdirSync(folderOf, { recursive: true })
  for (const document of parseAllDocuments(manifests)) {
    const { kind, apiVersion } = document.toJS() as { kind: string; apiVersion: string }
    // As kubeconform names it: of the group only what is before the first dot.
    const suffix = apiVersion.replace(/^([^./]+)[^/]*\//, '$1-')
    const name = `${kind.toLowerCase()}-${suffix}.json`
    const own = readFileSync(join(from, name), 'utf8').replaceAll(`/api/${shared}#`, '#')
    writeFileSync(join(folderOf, name), JSON.stringify({ ...JSON.parse(own), $defs }))
  }
  return folderOf
}
