// Makes what the package of the platform has in place of its sources, in dist/platform: `npm pack` runs it first.
import { cpSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildUi } from '../ui/build/build.ts'
import { packedFolder } from '../ui/build/folders.ts'
import { compile, manifest, root } from './compile.ts'

const folder = join(root, 'dist', 'platform')

await compile('tsconfig.json', folder)
// What browsers are given as it stands is not compiled.
const scripts = 'http-edge/documents/*.js'
for (const file of globSync(scripts, { cwd: root })) cpSync(join(root, file), join(folder, file))
// Of the clone's manifest the program reads the version; scripts and dependencies stay in the package's own.
const { version } = manifest
writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ type: 'module', version })}\n`)
const built = await buildUi((text) => process.stderr.write(`${text}\n`))
cpSync(built, packedFolder(join(folder, 'ui')), { recursive: true })
