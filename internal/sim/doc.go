// Package sim holds scenarios that are hard to judge: causes other than
// interrupts, load that drives everything at once, halves of sockets, damaged
// records, few stalls, and the same for guilty interrupts. They measure how
// often the engine blames interrupts that are innocent (its size) and finds
// those that are guilty (its power).
//
// It owns the choice of scenarios; internal/refcase lets them happen. It knows
// nothing of the engine.
package sim
