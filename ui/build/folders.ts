import { dirname, join } from 'node:path'

/** Of the web interface. */
export const sourceFolder = dirname(import.meta.dirname)
/** What browsers load, in a folder for each state of the sources. */
export const buildsFolder = join(sourceFolder, 'dist')
/** What a package brings in place of the sources, which it does not have. @param ui the folder of the web interface */
export const packedFolder = (ui: string = sourceFolder): string => join(ui, 'packed')
