import { Name } from '../kit/schemas.ts'

// Apart from what they name, so that who only lists migrations loads no kinds of catalogs.
export const catalogId = Name('Name of the catalog')
export const ruleName = Name('Name of the rule')
