import { form, portPattern } from '../kit/forms.ts'

const uri = `thrift://[A-Za-z0-9.-]+(?::${portPattern})?/?`

export const metastoreUrisInWords =
  'up to ten comma-separated addresses, each thrift:// with a host and a port, such as thrift://metastore.example:9083'

/** Addresses of a metastore. */
export const metastoreUrisForm = form(`^${uri}(?:, *${uri}){0,9}$`, metastoreUrisInWords)
