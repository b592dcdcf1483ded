import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, globSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress } from 'node:zlib'
import { buildsFolder, packedFolder, sourceFolder } from './folders.ts'
import { removeOldBuilds } from './old-builds.ts'

const root = dirname(sourceFolder)
/** What it is made of: its own files, the contracts with their client, and the packages. */
const sources = [
  'ui/**/*.{ts,tsx,css,html,svg}',
  'subjects/**/*.ts',
  'client/*.ts',
  'sdk/*.ts',
  'package-lock.json',
]
/** Of a build's folder: enough of the digest of its sources to tell it apart. */
const stampLength = 16
const stampForm = new RegExp(`^[0-9a-f]{${stampLength}}$`)
const compress = promisify(brotliCompress)
const run = promisify(execFile)
const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js')

/**
 * Builds the web interface where it is not built, or from other sources.
 * @param say told before it takes seconds
 * @returns the folder that browsers load it from
 */
export async function buildUi(say: (text: string) => void): Promise<string> {
  if (existsSync(packedFolder())) return packedFolder()
  const folder = join(buildsFolder, stampOf().slice(0, stampLength))
  if (existsSync(folder)) {
    markUsed(folder)
    return folder
  }
  say('Building the web interface; this takes some seconds, once.')
  // Whoever builds it at the same time has a folder of its own, and nobody sees half of it.
  const work = `${folder}.${process.pid}`
  // In a process of its own: what it loads is not needed again, and React is another one for development.
  const args = [
    'build',
    '--configLoader',
    'runner',
    '--config',
    join(sourceFolder, 'vite.config.ts'),
    '--outDir',
    work,
    '--emptyOutDir',
  ]
  await run(process.execPath, [vite, ...args], { env: { ...process.env, NODE_ENV: 'production' } })
  const files = globSync('**/*.{js,css,html,svg}', { cwd: work }).map((file) => join(work, file))
  for (const file of files) await writeFile(`${file}.br`, await compress(await readFile(file)))
  try {
    renameSync(work, folder)
  } catch (error) {
    rmSync(work, { recursive: true })
    if (!existsSync(folder)) throw error
  }
  removeOldBuilds(buildsFolder, (name) => stampForm.test(name))
  return folder
}

/** So that it counts as new when old builds are removed; where nobody may write, nobody removes any. */
function markUsed(folder: string): void {
  const now = new Date()
  try {
    utimesSync(folder, now, now)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EROFS' && code !== 'EACCES' && code !== 'EPERM') throw error
  }
}

function stampOf(): string {
  const files = globSync(sources, { cwd: root, exclude: ['ui/dist/**'] }).toSorted()
  return hash(
    'sha256',
    files.map((file) => `${file}\0${hash('sha256', readFileSync(join(root, file)))}`).join('\n'),
  )
}
