#!/usr/bin/env node
// The program `fairlead-apiserver`: the API server alone, which is `fairlead apiserver` without the other commands.
import { launch } from './launch.js'

await launch('apiserver/main.ts', 'apiserver.js')
