import { existsSync, readdirSync } from 'node:fs'

/** All names below a folder, in order, also while somebody removes some of them. Throws system errors. */
export function namesBelow(folder: string): string[] {
  for (;;) {
    try {
      return readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
    } catch (error) {
      const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT' && existsSync(folder)
      if (!isGone) throw error
    }
  }
}
