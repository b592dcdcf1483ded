/**
 * Node's HTTP. Importing `node:http` reads all that it exports, the classes of its WebSocket client too, and so loads that
 * client with the one of `fetch`: 14 MB of each process and some in every thread, which nobody here uses.
 */
export const http = process.getBuiltinModule('node:http')
