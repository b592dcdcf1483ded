import { Type } from 'typebox'
import { form } from '../kit/forms.ts'
import { Name } from '../kit/schemas.ts'

/** Where the data of a catalog's tables are: exactly one of these. Each kind has them beside its own. */
export const placeOfData = {
  fileSystemId: Type.Optional(
    Name('Name of the filesystem that contains the data; its root and the path mappings determine locations'),
  ),
  defaultFsOverride: Type.Optional(
    Type.String({
      maxLength: 1_000,
      ...form(
        '^[a-z][a-z0-9+.-]*://(?:[^\\s?#:@/]+@)?[^\\s?#@/]*(?:/[^\\s?#]*)?$',
        'a URI with a scheme and without a password, such as s3a://bucket or abfss://container@account.dfs.core.windows.net',
      ),
      description: 'Prefix for locations, instead of a filesystem',
    }),
  ),
}

export const onePlaceOfData = ['fileSystemId', 'defaultFsOverride']
