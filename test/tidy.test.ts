import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { entries as bundledEntries } from '../cli/bundled-schemas.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const sources = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'],
  {
    cwd: root,
  },
)
  .toString()
  .trim()
  .split('\n')
  .filter((path) => !path.startsWith('test/') && !path.startsWith('bench/'))

/** What the code of a folder may import of ours; the first entry that fits a file decides. */
const directions: [file: RegExp, allowed: RegExp][] = [
  [/^subjects\//, /^subjects\//],
  [/^client\//, /^(subjects|client)\//],
  [/^config\//, /^(subjects|config|broker)\//],
  [/^broker\//, /^(subjects|client|config|broker)\//],
  [/^services\/drivers\//, /^(subjects|config|broker|services\/drivers)\//],
  [/^services\/engine\//, /^(subjects|config|broker|services\/(drivers|engine))\//],
  // What every service is made of.
  [/^services\/kit\//, /^(subjects|config|broker|services\/kit)\//],
  // What several services are made of.
  [
    /^services\/(jobs|scheduling|bandwidth|questions)\//,
    /^(subjects|config|broker|services\/(kit|drivers|engine))\//,
  ],
  [
    /^services\/(\w+)\//,
    /^(subjects|config|broker|services\/(kit|jobs|scheduling|bandwidth|questions|drivers|engine))\//,
  ],
  [/^sdk\//, /^(subjects|client|sdk)\//],
  [/^examples\//, /^sdk\//],
  // It makes archives of what is here.
  [/^packaging\//, /^(broker|ui\/build|packaging)\//],
  [/^http-edge\//, /^(subjects|config|broker|http-edge)\//],
  // Where everything is put together.
  [/^cli\/assembly\//, /^(subjects|config|broker|services|http-edge|cli)\//],
  [/^cli\//, /^(subjects|config|broker|cli|ui\/build)\//],
  [/^ui\/build\//, /^ui\/build\//],
  // Installs.
  [/^deploy\//, /^(config|broker|ui\/build)\/|^cli\/bundled-schemas\.mjs$/],
  // It reaches the platform as every other client does.
  [/^ui\//, /^(subjects|client|ui)\//],
]

interface Import {
  readonly from: string
  readonly what: string
}

function importsOf(path: string): Import[] {
  const text = readFileSync(join(root, path), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, what]) => ({
    from: path,
    what: what!.startsWith('.') ? normalize(join(dirname(path), what!)) : what!,
  }))
}

const imports = sources.flatMap(importsOf)
const isOurs = ({ what }: Import) =>
  /^(subjects|client|config|broker|services|http-edge|cli|sdk|ui|packaging)\//.test(what)

test('imports go one way', () => {
  const wrong = imports.filter(isOurs).filter(({ from, what }) => {
    const [, allowed] = directions.find(([file]) => file.test(from)) ?? []
    const own = /^services\/\w+\//.exec(from)?.[0]
    return allowed === undefined || !(allowed.test(what) || (own !== undefined && what.startsWith(own)))
  })
  expect(wrong).toEqual([])
})

/** Files that are imported past the face of their service, each with why. */
const openFiles: Readonly<Record<string, string>> = {
  'services/metadata/agents/serve-catalogs.ts': 'an agent must not load the service, with all its schemas',
  'services/migrations/agents/supervise-agent.ts':
    'a transfer agent must not load the service, with all its schemas',
}

/** Libraries of the services, entered by their rooms. */
const libraries = ['drivers', 'engine', 'kit', 'jobs', 'scheduling', 'bandwidth', 'questions']

test('a service is entered through its index.ts alone', () => {
  const serviceOf = (path: string) => /^services\/(\w+)\//.exec(path)?.[1]
  const past = imports.filter(({ from, what }) => {
    const entered = serviceOf(what)
    if (entered === undefined || entered === serviceOf(from) || libraries.includes(entered)) return false
    return what !== `services/${entered}/index.ts`
  })
  expect(past.map(({ what }) => what)).toEqual(Object.keys(openFiles))
})

/** What is in a circle of such edges, or on a way between two. */
function circlesIn(edges: readonly { readonly from: string; readonly what: string }[]): string[] {
  const left = new Set(edges.flatMap(({ from, what }) => [from, what]))
  for (let count = Infinity; left.size < count;) {
    count = left.size
    const still = edges.filter(({ from, what }) => left.has(from) && left.has(what))
    const [importing, imported] = [
      new Set(still.map(({ from }) => from)),
      new Set(still.map(({ what }) => what)),
    ]
    for (const path of left) if (!importing.has(path) || !imported.has(path)) left.delete(path)
  }
  return [...left]
}

/** Of files that import each other, be it for their types alone, none can be understood without the others. */
test('imports make no circles', () => {
  expect(circlesIn(imports.filter(isOurs))).toEqual([])
})

/** The first folder below another is a room of it, with all that is in there; what lies beside the rooms puts them together. */
const roomOf = (house: string, path: string): string | undefined => {
  if (!path.startsWith(`${house}/`)) return undefined
  const [room, inside] = path.slice(house.length + 1).split('/')
  return inside === undefined ? undefined : room
}

test.each(['broker', 'subjects', 'services/drivers', 'services/engine', 'services/migrations', 'ui'])(
  'the rooms of %s are layers',
  (house) => {
    const edges = imports
      .map(({ from, what }) => ({ from: roomOf(house, from), what: roomOf(house, what) }))
      .filter(
        (edge): edge is { from: string; what: string } => edge.from !== undefined && edge.what !== undefined,
      )
      .filter(({ from, what }) => from !== what)
    expect(edges.length).toBeGreaterThan(0)
    expect(circlesIn(edges)).toEqual([])
  },
)

test('a kind of store has one public face', () => {
  const faces = sources.filter((path) => /^services\/drivers\/[^/]+\/index\.ts$/.test(path))
  expect(faces.length).toBeGreaterThan(1)
  const rooms = faces.map((face) => `${dirname(face)}/`)
  const past = imports.filter(({ from, what }) =>
    rooms.some((room) => what.startsWith(room) && what !== `${room}index.ts` && !from.startsWith(room)),
  )
  expect(past).toEqual([])
})

test('kinds of stores are named by the list of them alone', () => {
  const faces = /^services\/drivers\/[^/]+\/index\.ts$/
  const naming = imports.filter(({ what }) => faces.test(what)).map(({ from }) => from)
  expect(new Set(naming)).toEqual(new Set(['services/drivers/index.ts']))
})

/** What a file loads, without what is for its types alone. */
const loadedBy = (path: string): string[] =>
  Array.from(
    readFileSync(join(root, path), 'utf8').matchAll(
      /^(?:import|export) (?!type )(?:[^';]* from )?'([^']+)'/gm,
    ),
    ([, what]) => (what!.startsWith('.') ? normalize(join(dirname(path), what!)) : what!),
  )

test('threads are small: the schemas are not loaded into each of them', () => {
  const threads = sources.filter(
    (path) => /^services\/.*thread\.ts$/.test(path) && !path.includes('engine-thread'),
  )
  expect(threads).toHaveLength(6)
  for (const thread of threads) {
    const loaded = new Set([thread])
    for (const path of loaded) {
      if (path.endsWith('.ts')) for (const what of loadedBy(path)) loaded.add(what)
    }
    expect([...loaded].filter((what) => what === 'typebox')).toEqual([])
  }
})

test('what is imported of the schemas’ library is in its bundle', () => {
  const imported = sources.flatMap(loadedBy).filter((what) => /^typebox(?:\/|$)/.test(what))
  expect(bundledEntries).toEqual([...new Set(imported)].toSorted())
})

test('nobody imports Node’s HTTP, with all that it loads', () => {
  expect(sources.filter((path) => loadedBy(path).includes('node:http'))).toEqual([])
})

test('the broker’s clients are known to client/, broker/ and sdk/ alone', () => {
  const wrong = imports.filter(
    ({ from, what }) => what.startsWith('@nats-io/') && !/^(client|broker|sdk)\//.test(from),
  )
  expect(wrong).toEqual([])
})

test('whatever repeats is in the list of tasks', () => {
  const repeating = sources.filter(
    (path) =>
      /^(config|broker|services|http-edge)\//.test(path) &&
      readFileSync(join(root, path), 'utf8').includes('setInterval('),
  )
  expect(repeating).toEqual(['broker/tasks/tasks.ts'])
})

/** Each starts something that listens: a broker, a platform, a store, a directory, a browser. */
const starters =
  /\b(?:startTestPlatform|startWithUi|startTestBroker|startPlatform|startBroker|startAzurite|startProvider|startOtherProvider|startSlapd|startKeycloak|openChromium|findNatsServer|natsServerPath)\(/
const tests = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'test/*.ts'], {
  cwd: root,
})
  .toString()
  .trim()
  .split('\n')
  .filter((path) => existsSync(join(root, path)))

test('a test file whose name says nothing needs no server', () => {
  const kinds = /\.(?:platform|alone|slow|ui)\.test\.ts$/
  const wrong = tests
    .filter(
      (path) => path.endsWith('.test.ts') && !kinds.test(path) && !/^test\/(?:crash|peers)\//.test(path),
    )
    .filter((path) => path !== 'test/tidy.test.ts' && starters.test(readFileSync(join(root, path), 'utf8')))
  expect(wrong, 'name them *.platform.test.ts, or *.slow.test.ts').toEqual([])
})

test('a test file that mocks a module has a process of its own', () => {
  const wrong = tests.filter(
    (path) =>
      /(?<!\.alone|\.slow)\.test\.ts$/.test(path) &&
      path !== 'test/tidy.test.ts' &&
      /\bvi\.(?:mock|doMock)\(/.test(readFileSync(join(root, path), 'utf8')),
  )
  expect(wrong, 'name them *.alone.test.ts').toEqual([])
})
