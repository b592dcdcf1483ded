// Makes the archive of the TypeScript SDK in dist/: `npm run sdk:pack`.
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../broker/server/run-program.ts'
import { compile, manifest, root, scope } from './compile.ts'

const folder = join(root, 'dist', 'sdk')
const packTimeoutMs = 60_000

/** Packages that the code imports, in the versions that the clone has. */
function dependencies(): Record<string, string> {
  const files = globSync('**/*.{js,d.ts}', { cwd: folder }).map((file) =>
    readFileSync(join(folder, file), 'utf8'),
  )
  const imported = files.flatMap((text) =>
    [...text.matchAll(/(?:\bfrom |\bimport\()(['"])((?:@[\w-]+\/)?[\w-]+)(?:\/[\w/-]+)?\1/g)].map(
      ([, , name]) => name!,
    ),
  )
  const used = [...new Set(imported)].toSorted()
  return Object.fromEntries(
    used.map((name) => {
      const version = manifest.dependencies[name]
      if (version === undefined) throw new Error(`the SDK imports ${name}, which is no dependency`)
      return [name, version]
    }),
  )
}

await compile('tsconfig.sdk.json', folder)
const entry = (name: string) => ({ types: `./sdk/${name}.d.ts`, default: `./sdk/${name}.js` })
const { version, license } = manifest
const about = {
  name: `${scope}/sdk`,
  version,
  description: 'Extensions of a Gantry platform, in TypeScript and JavaScript',
  license,
  type: 'module',
  sideEffects: false,
  engines: { node: '>=22' },
  exports: { '.': entry('index'), './browser': entry('browser') },
  dependencies: dependencies(),
}
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(about, null, 2)}\n`)
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
copyFileSync(join(root, 'sdk', 'README.md'), join(folder, 'README.md'))
const [packed] = JSON.parse(
  await runProgram('npm', ['pack', '--json', '--pack-destination', '..'], {
    cwd: folder,
    timeoutMs: packTimeoutMs,
  }),
) as [{ filename: string }]
process.stdout.write(`${join(root, 'dist', packed.filename)}\n`)
