// The schemas' library is 370 small files, which take half of the start of a command. Bundled into a few they take a tenth.
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import * as module from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cacheFolder, modules, root } from './node-settings.mjs'

/** All that is imported of it: one that is missing here would be a second copy of the library. */
export const entries = ['typebox', 'typebox/compile', 'typebox/system', 'typebox/value']

const fileOf = (entry) => `${entry.replace('/', '.')}.mjs`

function bundleFolder() {
  const { version } = JSON.parse(readFileSync(join(modules, 'typebox', 'package.json'), 'utf8'))
  // Another list of entries is another bundle.
  return join(
    cacheFolder,
    `typebox-${version}-${createHash('sha256').update(entries.join()).digest('hex').slice(0, 8)}`,
  )
}

/** Makes the bundle unless it is there, which takes half a second. Without write permission there is none. */
export async function bundleSchemas() {
  const folder = bundleFolder()
  if (existsSync(folder)) return
  const work = `${folder}.${process.pid}`
  try {
    mkdirSync(cacheFolder, { recursive: true })
    accessSync(cacheFolder, constants.W_OK)
    const { rolldown } = await import('rolldown')
    const bundle = await rolldown({
      cwd: root,
      input: Object.fromEntries(entries.map((entry) => [fileOf(entry).slice(0, -'.mjs'.length), entry])),
      platform: 'node',
      logLevel: 'silent',
    })
    await bundle.write({ dir: work, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
    renameSync(work, folder)
  } catch {
    // Each module is loaded by itself then, as without a cache.
    rmSync(work, { recursive: true, force: true })
  }
}

/** Has this process load the bundle in place of the library, where there is one. */
export function useBundledSchemas() {
  const folder = bundleFolder()
  if (module.registerHooks === undefined || !existsSync(folder)) return
  const urls = new Map(entries.map((entry) => [entry, pathToFileURL(join(folder, fileOf(entry))).href]))
  module.registerHooks({
    resolve(specifier, context, next) {
      const url = urls.get(specifier)
      return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true }
    },
  })
}
