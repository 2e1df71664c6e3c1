/* SPDX-License-Identifier: Apache-2.0 */
int pkb_solution_of_a_test;
