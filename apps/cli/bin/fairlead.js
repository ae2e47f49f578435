#!/usr/bin/env node
// The command `fairlead`.
import { launch } from './launch.js'

await launch('main.ts', 'main.js')
