import "./checks.js";
import { run } from "./check.js";

const told = run();
console.log(told.join("\n"));
process.exitCode = told.length > 1 ? 1 : 0;
