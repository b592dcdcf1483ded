import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { runProgram } from '../broker/server/run-program.ts'

export const root = dirname(import.meta.dirname)
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
/** Seconds where nothing else runs. */
const compileTimeoutMs = 5 * 60_000

/** The manifest of the clone, which says what a package needs. */
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly dependencies: Readonly<Record<string, string>>
}

/** Of the names of all packages: ours, as nobody else can publish there. */
export const scope = dirname(manifest.name)

/**
 * Compiles what a configuration names into a folder, which is emptied first: Node runs no TypeScript that is below
 * `node_modules`.
 */
export async function compile(configuration: string, folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  await runProgram(
    process.execPath,
    [tsc, '-p', join(import.meta.dirname, configuration), '--outDir', folder],
    {
      timeoutMs: compileTimeoutMs,
    },
  )
  for (const file of globSync('**/*.{js,d.ts}', { cwd: folder }).map((name) => join(folder, name)))
    writeFileSync(file, withCompiledPaths(file))
}

/** The compiler leaves paths in declarations as they are, and those of threads. */
const withCompiledPaths = (file: string): string =>
  readFileSync(file, 'utf8').replaceAll(/(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g, (text, quote, path) =>
    existsSync(join(dirname(file), `${path}.js`)) ? `${quote}${path}.js${quote}` : text,
  )
